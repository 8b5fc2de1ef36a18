"""Every schema of the description is suitable for client generators."""

import re
from collections import Counter

import jsonschema_rs
import pytest

from infra.openapi.plain import plain
from tests.unit.gateway.described import DOCUMENT

ENUMS = {str: "string", bool: "boolean", int: "integer"}
NOT_SCHEMAS = {"default", "enum", "const", "example", "examples", "required", "mapping", "security"}


def schemas_in(result, path=()):
    """Yield every schema with its place, except those in examples."""
    if isinstance(result, list):
        for at, one in enumerate(result):
            yield from schemas_in(one, (*path, at))
    if not isinstance(result, dict):
        return
    is_names = path and path[-1] in {"properties", "schemas"}
    if not is_names:
        yield path, result
    for name, one in result.items():
        if is_names or name not in NOT_SCHEMAS:
            yield from schemas_in(one, (*path, name))


SCHEMAS = list(schemas_in(DOCUMENT))


def places(is_wrong):
    return ["/".join(map(str, path)) for path, schema in SCHEMAS if is_wrong(schema)]


def parameters():
    return [
        pytest.param(one, id=f"{operation['operationId']} {one['name']}")
        for operations in DOCUMENT["paths"].values()
        for operation in operations.values()
        for one in operation.get("parameters", ())
    ]


def test_every_enum_and_every_constant_has_a_type():
    assert places(lambda one: ("enum" in one or "const" in one) and "type" not in one) == []


def test_the_values_of_an_enum_are_of_its_type_and_no_truths():
    def is_odd(one):
        values = one.get("enum", [])
        return any(ENUMS[type(value)] != one["type"] or isinstance(value, bool) for value in values)

    assert places(is_odd) == []


def test_every_number_has_a_format():
    assert places(lambda one: one.get("type") == "integer" and one.get("format") != "int64") == []
    assert places(lambda one: one.get("type") == "number" and one.get("format") != "double") == []


def test_the_id_of_a_task_is_a_uuid_in_paths_as_in_answers():
    given = [one.values[0] for one in parameters()]
    taken = [one["schema"] for one in given if one["name"] == "task_id"]
    result = [one for path, one in SCHEMAS if path[-1:] in {("task_id",), ("last_task_id",)}]
    assert min(len(taken), len(result)) > 1
    assert {one["format"] for one in (*taken, *result)} == {"uuid"}


def test_every_schema_has_a_title_that_no_other_has_however_it_is_written():
    titles = [one["title"] for one in DOCUMENT["components"]["schemas"].values()]
    assert all(re.fullmatch("[A-Z][A-Za-z0-9]*", title) for title in titles)
    assert [title for title, times in Counter(map(str.lower, titles)).items() if times > 1] == []


def test_beside_a_reference_stand_words_only():
    assert places(lambda one: "$ref" in one and one.keys() - {"$ref", "description"}) == []


def test_no_field_has_a_default_that_a_client_would_send_or_require():
    fields = [(path, one) for path, one in SCHEMAS if "properties" in path[-2:-1]]
    assert [path for path, one in fields if "default" in one] == []


def test_only_types_to_choose_from_are_in_one_of():
    def is_odd(one):
        return any(set(way) != {"$ref"} for way in one.get("oneOf", ()))

    assert places(is_odd) == []
    assert places(lambda one: "allOf" in one) == []


@pytest.mark.parametrize("parameter", parameters())
def test_the_examples_of_a_parameter_fit_its_schema(parameter):
    whole = {"components": DOCUMENT["components"], "allOf": [parameter["schema"]]}
    fits = jsonschema_rs.Draft202012Validator(whole, validate_formats=True)
    given = [one["value"] for one in parameter.get("examples", {}).values()]
    assert [value for value in given if not fits.is_valid(value)] == []


def test_the_examples_of_a_body_fit_its_schema_unless_they_are_refused():
    for operations in DOCUMENT["paths"].values():
        for operation in operations.values():
            for media in operation.get("requestBody", {}).get("content", {}).values():
                whole = {"components": DOCUMENT["components"], "allOf": [media["schema"]]}
                fits = jsonschema_rs.Draft202012Validator(whole, validate_formats=True)
                taken = names_of_what_is_taken(operation)
                for name, example in media["examples"].items():
                    is_fine = fits.is_valid(example["value"])
                    assert is_fine or name not in taken, (operation["operationId"], name)


def names_of_what_is_taken(operation):
    """Return the names of successful examples; a batch may contain refused tasks."""
    return {
        name
        for status, answer in operation["responses"].items()
        if status.startswith("2") and operation["operationId"] != "submitBatch"
        for name in answer.get("content", {}).get("application/json", {}).get("examples", ())
    }


@pytest.mark.parametrize(
    ("schema", "result"),
    [
        ({"enum": ["a", "b"]}, {"enum": ["a", "b"], "type": "string"}),
        ({"enum": [True]}, {"const": True, "type": "boolean"}),
        ({"const": 3}, {"const": 3, "type": "integer", "format": "int64"}),
        ({"enum": [1, "a"]}, {"enum": [1, "a"]}),
        ({"type": "number", "format": "float"}, {"type": "number", "format": "float"}),
        ({"type": "string", "default": None}, {"type": "string"}),
        (
            {"$ref": "#/x", "description": "How", "default": {"a": 1}},
            {"$ref": "#/x", "description": 'How. By default `{"a": 1}`.'},
        ),
        (
            {"properties": {"default": {"enum": ["a"]}}},
            {"properties": {"default": {"enum": ["a"], "type": "string"}}},
        ),
        (
            {"anyOf": [{"type": "integer"}, {"items": {"type": "number"}}]},
            {
                "anyOf": [
                    {"type": "integer", "format": "int64"},
                    {"items": {"type": "number", "format": "double"}},
                ]
            },
        ),
    ],
    ids=str,
)
def test_a_schema_is_written_in_plain_words(schema, result):
    assert plain(schema) == result
