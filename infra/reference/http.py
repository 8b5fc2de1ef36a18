"""Writes the HTTP API page from the OpenAPI description."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from infra.reference.errors import link
from infra.reference.routes import Route, anchor, routes
from infra.reference.text import code, page, sentence, table, words

_ABOUT = """
Every route, generated from the description that a running system serves as `GET /openapi.json`
(OpenAPI 3.1) and is in the repository (`functions/gateway/openapi.json`). A test sends each
example below to a running system and compares the response.

* **Address.** `http://127.0.0.1:8080` on a laptop; the stack's output in a deployment.
* **Keys.** A deployment requires `Authorization: Bearer <key>` or `X-Api-Key: <key>` on every route
  but `GET /healthz`, including the description, which shows your types' payloads. The local system
  requires none.
* **Bodies** are JSON in UTF-8 with `Content-Type: application/json`, read strictly: no duplicate
  names in an object, no NaN, at most 32 levels. Unknown fields are refused.
* **Responses may gain fields:** ignore those that you do not know.
* **Times** are RFC 3339 with a zone; whole numbers have no decimal point.
* **Refusals** are `application/problem+json`: see [errors](errors.md). Every response of the API
  has an `X-Request-Id`.
* **The platform answers for the API** when the API's process died (500), when too many requests
  run at once (503), or when a request is too large or malformed (4xx): with `{"message": …}` and
  without an `X-Request-Id`. Its `Apigw-Requestid` names the request in the logs. After a 500 or a
  503 the request may have been accepted: repeat it with the same key.
"""
_EXAMPLES = "<!-- run by: tests/acceptance/test_examples.py -->"


def http(document: Mapping[str, Any]) -> str:
    """Return a table of all routes, and a section for each."""
    rows = [[_link(one.name), sentence(one.operation["summary"])] for one in routes(document)]
    parts = [_group(tag, document) for tag in _tags(document)]
    overview = table(["route", "what it does"], rows)
    return page("HTTP API", _ABOUT, overview, *parts, _models(document))


def _link(name: str) -> str:
    return f"[{code(name)}](#{anchor(name)})"


def _tags(document: Mapping[str, Any]) -> list[str]:
    return list(dict.fromkeys(one.operation["tags"][0] for one in routes(document)))


def _group(tag: str, document: Mapping[str, Any]) -> str:
    members = [one for one in routes(document) if one.operation["tags"][0] == tag]
    return "\n\n".join([f"## {tag.capitalize()}", *(_section(one) for one in members)])


def _section(route: Route) -> str:
    operation = route.operation
    about = " ".join([sentence(operation["summary"]), operation.get("description", "")]).strip()
    parts = [f"### {route.name}", about, *_parameters(operation), *_body(operation)]
    parts += [_answers(operation), _refusals(route), *_example(route)]
    return "\n\n".join(parts)


def _parameters(operation: Mapping[str, Any]) -> Iterator[str]:
    if parameters := operation.get("parameters"):
        rows = [
            [
                code(one["name"]),
                one["in"],
                _type(one["schema"]),
                sentence(one.get("description", "")),
            ]
            for one in parameters
        ]
        yield table(["parameter", "in", "type", "meaning"], rows)


def _body(operation: Mapping[str, Any]) -> Iterator[str]:
    for media, body in operation.get("requestBody", {"content": {}})["content"].items():
        yield f"*Body:* {_type(body['schema'])}, {code(media)}."


def _answers(operation: Mapping[str, Any]) -> str:
    rows = [
        [status, _shape(response), response["description"]]
        for status, response in operation["responses"].items()
        if status.startswith("2")
    ]
    return table(["status", "body", "meaning"], rows)


def _shape(response: Mapping[str, Any]) -> str:
    return ", ".join(_type(one["schema"]) for one in response.get("content", {}).values())


def _refusals(route: Route) -> str:
    links = ", ".join(link(name, "errors.md") for name in route.problems)
    return f"*Refusals:* {links}."


def _example(route: Route) -> Iterator[str]:
    """Return the first example with a successful response."""
    for status, response in route.operation["responses"].items():
        for content in response.get("content", {}).values() if status.startswith("2") else ():
            for name, example in content.get("examples", {}).items():
                yield "\n".join([_EXAMPLES, "```http", _request(route, name)])
                yield f"HTTP/1.1 {status}\n\n{_json(example['value'])}\n```"
                return


def _request(route: Route, name: str) -> str:
    method, path = route.name.split(" ")
    query, headers = {}, []
    for one in route.operation.get("parameters", ()):
        if name in one.get("examples", {}):
            value = one["examples"][name]["value"]
            match one["in"]:
                case "path":
                    path = path.replace(f"{{{one['name']}}}", value)
                case "query":
                    query[one["name"]] = value
                case _:
                    headers.append(f"{one['name']}: {value}")
    first = f"{method} {path}{'?' if query else ''}{urlencode(query, safe=':')}"
    bodies = route.operation.get("requestBody", {"content": {}})["content"]
    for media, body in bodies.items():
        headers.append(f"Content-Type: {media}")
        if name in body.get("examples", {}):
            return "\n".join([first, *headers, "", _json(body["examples"][name]["value"])])
    return "\n".join([first, *headers])


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _models(document: Mapping[str, Any]) -> str:
    schemas = document["components"]["schemas"]
    models = {name: one for name, one in schemas.items() if not name.startswith("Problem.")}
    return "\n\n".join(["## Models", *(_model(name, one) for name, one in models.items())])


def _model(name: str, schema: Mapping[str, Any]) -> str:
    about = " ".join(schema.get("description", "").split())
    parts = [f"### {name}", *([sentence(about)] if about else []), *_fields(schema)]
    if "enum" in schema:
        parts.append(f"One of {words(map(str, schema['enum']))}.")
    if "oneOf" in schema and "properties" not in schema:
        parts.append(f"One of {_list(schema['oneOf'])}.")
    return "\n\n".join(parts)


def _fields(schema: Mapping[str, Any]) -> Iterator[str]:
    if fields := schema.get("properties"):
        required = set(schema.get("required", ()))
        rows = [
            [code(name), _type(one), "yes" if name in required else "", _meaning(one)]
            for name, one in fields.items()
        ]
        yield table(["field", "type", "always" if _is_answer(schema) else "required", ""], rows)


def _is_answer(schema: Mapping[str, Any]) -> bool:
    """Distinguish responses, which may gain fields, from requests, which refuse unknown fields."""
    return "additionalProperties" not in schema


def _meaning(schema: Mapping[str, Any]) -> str:
    about = sentence(schema["description"]) if schema.get("description") else ""
    if "default" in schema:
        about += f" Default: {code(json.dumps(schema['default']))}."
    return about


def _type(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        return f"[{name}](#{anchor(name)})"
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return _list(schema[several], " or ")
    if "const" in schema:
        return code(json.dumps(schema["const"]))
    if "enum" in schema:
        return words(json.dumps(one) for one in schema["enum"])
    return _plain(schema)


def _list(schemas: Sequence[Mapping[str, Any]], between: str = ", ") -> str:
    return between.join(map(_type, schemas))


def _plain(schema: Mapping[str, Any]) -> str:
    match schema.get("type"):
        case "array":
            return f"array of {_type(schema.get('items', {}))}{_bounds(schema, 'Items')}"
        case "object" if isinstance(of := schema.get("additionalProperties"), dict):
            return f"object of {_type(of)}"
        case "string":
            kind = {"date-time": "time", "uuid": "id"}.get(schema.get("format", ""), "string")
            return kind + _bounds(schema, "Length")
        case None:
            return "any JSON"
        case list() as several:
            return " or ".join(several)
        case one:
            return f"{one}{_bounds(schema, 'imum')}"


def _bounds(schema: Mapping[str, Any], suffix: str) -> str:
    low, high = schema.get(f"min{suffix}"), schema.get(f"max{suffix}")
    if high is not None:
        return f", {low if low is not None else 'up'} to {high:,}"
    return f", at least {low:,}" if low else ""
