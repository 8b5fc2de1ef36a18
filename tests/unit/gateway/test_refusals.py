"""Every refusal that the API's description names can be met, on every route that names it."""

import json
import re
from hashlib import sha256

import pytest

from functions.gateway.description.every import OPERATIONS
from functions.gateway.description.problems import PROBLEMS
from infra.openapi.document import refusals_of
from taskmill.adapters.api_keys import ApiKeys
from taskmill.adapters.redis.endpoints import RedisEndpoints
from taskmill.adapters.redis.session import Session
from tests.unit.functions.stage import Stage
from tests.unit.gateway import described
from tests.unit.gateway.calls import JSON, NOBODY, call, end, post, submit

REFUSALS = [(one, problem) for one in OPERATIONS for problem in refusals_of(one)]
PUBLIC = "https://hooks.example.com/in"
POINTER = {"url": "s3://memory/x", "size": 1, "sha256": "0" * 64}
RECORD = "tasks.pending:0:0:0"


@pytest.fixture
def stage(monkeypatch):
    stage = Stage()
    stage.bind(monkeypatch)
    return stage


def ask(stage, operation, *, name=None, **request):
    usual = RECORD if operation.name == "discardRecord" else NOBODY
    path = re.sub(r"\{\w+\}", name or usual, operation.path)
    return call(stage, operation.method.upper(), path, **request)


def ask_with(body):
    """Return a way to provoke a refusal: with this body."""
    text = body if isinstance(body, str) else json.dumps(body)
    return lambda stage, operation, _: ask(stage, operation, headers=JSON, body=text)


def without_a_key(stage, operation, _):
    stage.api_keys = ApiKeys(lambda: json.dumps({"ci": sha256(b"key").hexdigest()}))
    return ask(stage, operation)


def by_a_fault_of_ours(stage, operation, monkeypatch):
    def breaks(*_):
        raise RuntimeError

    module = described.answered()[operation.route]
    name = "_description" if module == "description" else "tell"
    monkeypatch.setattr(f"functions.gateway.routes.{module}.{name}", breaks)
    return ask(stage, operation, headers=JSON, body="{}")


def without_stores(stage, operation, _):
    submit(stage)
    stage.log.is_away = stage.outbox.is_away = stage.ledger.is_away = True
    stage.records.is_away = True
    stage.endpoints = RedisEndpoints(Session("redis://127.0.0.1:1/0"))
    stage.hot.forget()
    body = {
        "POST /v1/tasks": {"type": "echo"},
        "POST /v1/endpoints/enable": {"url": PUBLIC},
        "PATCH /v1/tasks/{task_id}": {"delay_seconds": 1},
    }
    return ask(stage, operation, headers=JSON, body=json.dumps(body.get(operation.route, {})))


def with_what_is_no_json(stage, operation, _):
    if operation.takes is None:
        return ask(stage, operation, query={"cursor": "x"})
    return ask(stage, operation, headers=JSON, body="{")


def in_unknown_words(stage, operation, _):
    if operation.takes is None:
        return ask(stage, operation, query={"odd": "1"})
    return ask(stage, operation, headers=JSON, body='{"odd": 1}')


def of_no_type(stage, operation, _):
    rest = {"size": 1, "sha256": "0" * 64} if operation.name == "offerUpload" else {}
    return ask(stage, operation, headers=JSON, body=json.dumps({"type": "nobody"} | rest))


def of_nobody(stage, operation, _):
    body = {"delay_seconds": 1} if operation.name == "changeTask" else {"url": PUBLIC}
    return ask(stage, operation, headers=JSON, body=json.dumps(body))


def under_a_used_key(stage, operation, _):
    submit(stage, idempotency_key="k")
    body = {"type": "echo", "payload": {"say": 1}, "idempotency_key": "k"}
    return ask(stage, operation, headers=JSON, body=json.dumps(body))


def of_what_is_over(stage, operation, _):
    if operation.name == "cancelTask":
        name = submit(stage).body["id"]
        end(stage, name)
    else:
        name = post(stage, "/v1/redrives", {"reason": "nobody has this"}).body["id"]
    return ask(stage, operation, name=name)


def of_what_lives(stage, operation, _):
    return ask(stage, operation, name=submit(stage).body["id"])


def of_what_ended(stage, operation, _):
    name = submit(stage).body["id"]
    end(stage, name)
    return ask(stage, operation, name=name, headers=JSON, body='{"delay_seconds": 1}')


def beside_its_successor(stage, operation, _):
    stage.catch_up()
    dead = submit(stage, max_attempts=1, payload={"discard": "never"}).body["id"]
    end(stage, dead)
    stage.catch_up()
    name = post(stage, "/v1/redrives", {}).body["id"]
    post(stage, f"/v1/redrives/{name}/stop")
    post(stage, "/v1/redrives", {})
    return ask(stage, operation, name=name)


PROVOKED = {
    "already_finished": of_what_is_over,
    "another_job_lives": beside_its_successor,
    "bad_request": with_what_is_no_json,
    "forbidden": lambda stage, operation, _: ask(stage, operation, headers={"Taskmill-Depth": "1"}),
    "idempotency_key_reused": under_a_used_key,
    "internal_error": by_a_fault_of_ours,
    "invalid_payload": ask_with({"type": "echo", "payload": 1}),
    "invalid_request": in_unknown_words,
    "not_found": of_nobody,
    "not_redrivable": of_what_lives,
    "not_supported_yet": ask_with({"type": "echo", "priority": "high"}),
    "not_waiting": of_what_ended,
    "payload_conflict": ask_with({"type": "echo", "payload": 1, "payload_ref": POINTER}),
    "payload_missing": ask_with({"type": "echo", "payload_ref": POINTER}),
    "payload_too_large": ask_with({"type": "echo", "payload": {"say": "x" * 300_000}}),
    "request_too_large": ask_with({"tasks": ["x" * 6_000_000]}),
    "unauthorized": without_a_key,
    "unavailable": without_stores,
    "unknown_type": of_no_type,
    "unsupported_media_type": lambda stage, operation, _: ask(stage, operation, body="{}"),
}


@pytest.mark.parametrize(
    ("operation", "problem"), REFUSALS, ids=lambda value: getattr(value, "name", value)
)
def test_every_refusal_that_is_described_can_be_met(stage, monkeypatch, operation, problem):
    told = PROVOKED[problem](stage, operation, monkeypatch)
    assert (told.status, told.body["type"]) == (PROBLEMS[problem].status, problem)
