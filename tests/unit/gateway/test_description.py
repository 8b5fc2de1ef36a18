"""The API description matches the code: routes, refusals and schemas."""

import json
import subprocess
import sys
from datetime import timedelta
from http import HTTPStatus
from pathlib import Path
from typing import get_args

import jsonschema_rs
import pytest

from functions.gateway.description.every import OPERATIONS
from functions.gateway.description.problems import PROBLEMS
from functions.gateway.description.reasons import REASONS
from functions.gateway.http.problem import ProblemType
from infra.openapi.document import document
from taskmill.core.task import Millis, TaskType
from taskmill.execution.conclude import conclude
from taskmill.execution.outcome import (
    Attempt,
    Cancelled,
    Discard,
    End,
    Expired,
    GivenBack,
    Misfit,
    Poisoned,
    Raised,
    Retry,
    Snooze,
    Stored,
    Succeeded,
    TimedOut,
    UnknownType,
)
from taskmill_local.template.source import load_template
from tests.builders import NOW, an_envelope
from tests.unit.gateway import described
from tests.unit.gateway.calls import get
from tests.unit.stage import Stage

ROOT = Path(__file__).parents[3]
GATEWAY = ROOT / "functions/gateway"
CATALOGUE = json.loads((ROOT / "shared/taskmill/catalogue.json").read_text())
JSON_MEDIA = "application/json"
TASK_REQUEST = "#/components/schemas/TaskRequest"
REF = {"url": "s3://bucket/payloads/default/x", "size": 1, "sha256": "0" * 64}
# Their answers are as long as the deployment is large: `test_routes.py` asks for them.
WITHOUT_EXAMPLE = {"GET /v1/types", "GET /openapi.json"}


@pytest.fixture
def stage(monkeypatch):
    stage = Stage()
    stage.bind(monkeypatch)
    return stage


def deployed():
    resources = load_template(ROOT / "template.yaml")["Resources"]
    events = resources["Gateway"]["Properties"]["Events"].values()
    routes = [one["Properties"] for one in events]
    return {f"{one['Method']} {one['Path']}" for one in routes if "Path" in one}


def test_every_route_is_described_answered_and_deployed_and_no_other():
    assert set(described.operations()) == set(described.answered()) == deployed()


def test_every_refusal_is_described_with_what_to_do_next():
    assert set(get_args(ProblemType)) == set(PROBLEMS)
    for name, refusal in PROBLEMS.items():
        result = described.DOCUMENT["components"]["schemas"][f"Problem.{name}"]["description"]
        assert result.endswith(f"What to do: {refusal.next_step}")


def test_the_description_is_what_the_types_say_and_is_served_as_it_is(stage):
    text = (GATEWAY / "openapi.json").read_text()
    assert document(CATALOGUE) == text
    assert get(stage, "/openapi.json").body == json.loads(text)


def test_a_type_that_is_added_is_described_with_all_that_its_payload_refers_to():
    schema = {
        "$ref": "#/$defs/Order",
        "$defs": {
            "Order": {
                "type": "object",
                "required": ["lines"],
                "properties": {"lines": {"type": "array", "items": {"$ref": "#/$defs/Line"}}},
            },
            "Line": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Line"}}},
        },
    }
    result = json.loads(document([*CATALOGUE, CATALOGUE[0] | {"name": "order", "schema": schema}]))
    schemas = result["components"]["schemas"]
    assert "order" in schemas["TaskRequest"]["discriminator"]["mapping"]
    assert schemas["TaskRequest.order"]["properties"]["type"] == {
        "const": "order",
        "type": "string",
    }
    line = "#/components/schemas/Payload.order.Line"
    assert schemas["Payload.order"]["properties"]["lines"]["items"] == {"$ref": line}
    assert schemas["Payload.order.Line"]["properties"]["next"] == {"$ref": line}


@pytest.mark.parametrize(
    ("request_", "fits"),
    [
        ({"type": "echo"}, True),
        ({"type": "echo", "payload": {}}, True),
        ({"type": "echo", "payload_ref": REF}, True),
        ({"type": "echo", "payload_ref": REF, "payload": {}}, False),
        ({"type": "webhook"}, False),
        ({"type": "webhook", "payload_ref": REF}, True),
        ({"type": "webhook", "payload_ref": REF, "payload": {"url": "", "secret": "a"}}, False),
        ({"type": "nobody", "payload_ref": REF}, False),
    ],
)
def test_a_payload_comes_with_its_task_or_by_reference(request_, fits):
    whole = {"components": described.DOCUMENT["components"], "$ref": TASK_REQUEST}
    assert jsonschema_rs.Draft202012Validator(whole).is_valid(request_) is fits


def test_the_cold_start_of_a_submit_imports_no_other_subject():
    loaded = "import functions.gateway.handler, sys; print(*sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", loaded], cwd=ROOT, capture_output=True, check=True
    )
    names = {
        name for name in result.stdout.decode().split() if name.startswith("functions.gateway.")
    }
    subjects = {name.split(".")[2] for name in names}
    assert subjects == {"handler", "http", "payloads", "presenter", "submitting"}


def test_a_gateway_reads_nothing_of_what_the_description_is_made_of():
    loaded = (
        "from functions.gateway.handler import know_every_route; know_every_route(); import sys; "
        "print(*sys.modules)"
    )
    result = subprocess.run(
        [sys.executable, "-c", loaded], cwd=ROOT, capture_output=True, check=True
    )
    names = result.stdout.decode().split()
    assert "functions.gateway.service" in names
    assert [name for name in names if name.startswith("functions.gateway.description")] == []


ENDS = {
    Retry("busy"),
    Snooze(timedelta(seconds=1), "later"),
    Discard("no"),
    Raised("ValueError", "no"),
    Raised("ValueError", "no", is_hopeless=True),
    GivenBack(),
    TimedOut(timedelta(seconds=1)),
    Misfit("no"),
    Poisoned(3),
    UnknownType(TaskType("x")),
    Expired(Millis(1)),
    Succeeded(object()),
}


def test_every_reason_that_a_task_may_have_is_described_and_no_other():
    assert {type(end) for end in ENDS} >= set(get_args(End)) - {Stored, Cancelled}
    attempt = Attempt(envelope=an_envelope(), token=1, started_at_ms=Millis(NOW), losses=0)
    ended = [conclude(attempt, end, now=Millis(NOW), chance=1) for end in ENDS]
    assert {fact.reason for fact in ended} == set(REASONS)
    result = described.DOCUMENT["components"]["schemas"]["Task"]["properties"]["reason"]
    assert result["x-extensible-enum"] == list(REASONS)


def nodes(result):
    yield result
    inner = (
        result.values() if isinstance(result, dict) else result if isinstance(result, list) else ()
    )
    for one in inner:
        yield from nodes(one)


def test_every_reference_leads_somewhere_and_every_schema_is_one():
    for node in nodes(described.DOCUMENT):
        if isinstance(node, dict) and isinstance(node.get("$ref"), str):
            described.resolved(node)
    for name, schema in described.DOCUMENT["components"]["schemas"].items():
        assert jsonschema_rs.meta.is_valid(schema), name


def test_every_answer_that_is_no_refusal_has_an_example():
    bare = {
        one.route
        for one in OPERATIONS
        if {example.status for example in one.examples} < set(one.answers)
    }
    assert bare == WITHOUT_EXAMPLE


@pytest.mark.parametrize(
    ("operation", "example"),
    [(one, example) for one in OPERATIONS for example in one.examples],
    ids=lambda value: value.name,
)
def test_an_example_is_as_it_is_described(operation, example):
    media = (
        "application/json"
        if example.status < HTTPStatus.BAD_REQUEST
        else "application/problem+json"
    )
    fits = described.validator(operation.route, example.status, media)
    assert list(fits.iter_errors(example.answer)) == []
    assert set(example.given) <= {one.name for one in operation.parameters}
