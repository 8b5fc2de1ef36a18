"""Every described refusal occurs on every route that names it."""

import json
import re
from hashlib import sha256

import pytest
from msgspec import Raw

from functions.gateway.description.every import OPERATIONS
from functions.gateway.description.problems import PROBLEMS
from infra.openapi.document import refusals_of
from taskmill.core.task import DEFAULT_TENANT, Millis, TaskType, keyed_id
from taskmill.schedules.schedule import Definition, Draft, Pausing
from taskmill.stores.api_keys import ApiKeys
from taskmill.stores.redis.egress import RedisEndpoints
from taskmill.stores.redis.session import Session
from taskmill.submission.enqueued import Enqueue
from tests.unit.gateway.calls import JSON, NOBODY, call, end, post, submit
from tests.unit.stage import Stage

ASK_NOBODY = {"readHealth", "readDescription"}
"""They ask no store and read no request: nothing that a test could provide can fail in them."""

REFUSALS = [
    (one, problem)
    for one in OPERATIONS
    for problem in refusals_of(one)
    if not (problem == "internal_error" and one.name in ASK_NOBODY)
]
PUBLIC = "https://hooks.example.com/in"
POINTER = {"url": "s3://memory/x", "size": 1, "sha256": "0" * 64}
RECORD = "tasks.pending:0:0:0"
_OTHER_NAMES = {"readRecord": RECORD, "discardRecord": RECORD, "endPause": "type:echo"}
"""Names in a path of which the route can know that they may be there."""


@pytest.fixture
def stage(monkeypatch):
    stage = Stage()
    stage.bind(monkeypatch)
    return stage


def ask(stage, operation, *, name=None, **request):
    path = re.sub(r"\{\w+\}", name or _OTHER_NAMES.get(operation.name, NOBODY), operation.path)
    return call(stage, operation.method.upper(), path, **request)


SCHEDULING = {"makeSchedule", "putSchedule"}
MIDNIGHT = {"cron": "0 0 * * *"}


def scheduled(operation, task, **fields):
    """Return a body with a schedule of this task, or with the task itself."""
    if operation.name not in SCHEDULING:
        return task
    name = {"name": NOBODY} if operation.name == "makeSchedule" else {}
    return {"task": task, **MIDNIGHT, **name, **fields}


def ask_with(body):
    """Return a way to provoke a refusal: with this body."""

    def provoke(stage, operation):
        return ask(stage, operation, headers=JSON, body=json.dumps(scheduled(operation, body)))

    return provoke


def without_a_key(stage, operation):
    stage.ports.api_keys = ApiKeys(lambda: json.dumps({"ci": sha256(b"key").hexdigest()}))
    return ask(stage, operation)


class Faulty:
    """Stores in which everything except the keys has a bug."""

    api_keys = None

    def __getattr__(self, port):
        raise RuntimeError(f"a bug in {port}")


def by_a_fault_of_ours(stage, operation):
    stage.ports = Faulty()
    return ask_well(stage, operation)


def without_stores(stage, operation):
    submit(stage)
    stage.log.is_away = stage.outbox.is_away = stage.ledger.is_away = True
    stage.requests.is_away = True
    stage.records.is_away = True
    stage.ports.endpoints = RedisEndpoints(Session("redis://127.0.0.1:1/0"))
    stage.hot.forget()
    return ask_well(stage, operation)


def ask_well(stage, operation):
    """Send a request that a healthy system would accept."""
    moments = {"from": "2026-01-01T00:00:00Z", "until": "2026-01-01T00:00:00Z"}
    body = {
        "POST /v1/tasks": {"type": "echo"},
        "POST /v1/tasks/batch": {"tasks": [{"type": "echo"}]},
        "POST /v1/payloads": {"type": "echo", "size": 1, "sha256": "0" * 64},
        "POST /v1/schedules": scheduled(operation, {"type": "echo"}),
        "PUT /v1/schedules/{name}": scheduled(operation, {"type": "echo"}),
        "POST /v1/schedules/{name}/backfill": moments,
        "POST /v1/endpoints/enable": {"url": PUBLIC},
        "PATCH /v1/tasks/{task_id}": {"delay_seconds": 1},
    }
    return ask(stage, operation, headers=JSON, body=json.dumps(body.get(operation.route, {})))


def with_what_is_no_json(stage, operation):
    if operation.takes is None:
        return ask(stage, operation, query={"cursor": "x"})
    return ask(stage, operation, headers=JSON, body="{")


def in_unknown_words(stage, operation):
    if operation.takes is None:
        return ask(stage, operation, query={"odd": "1"})
    return ask(stage, operation, headers=JSON, body='{"odd": 1}')


def of_no_type(stage, operation):
    rest = {"size": 1, "sha256": "0" * 64} if operation.name == "offerUpload" else {}
    body = scheduled(operation, {"type": "nobody"} | rest)
    return ask(stage, operation, headers=JSON, body=json.dumps(body))


def of_nobody(stage, operation):
    moments = {"from": "2026-01-01T00:00:00Z", "until": "2026-01-01T00:00:00Z"}
    body = {
        "changeTask": {"delay_seconds": 1},
        "putSchedule": scheduled(operation, {"type": "echo"}, revision=1),
        "backfillSchedule": moments,
    }.get(operation.name, {"url": PUBLIC})
    return ask(stage, operation, headers=JSON, body=json.dumps(body))


def under_a_used_key(stage, operation):
    submit(stage, idempotency_key="k")
    body = {"type": "echo", "payload": {"say": 1}, "idempotency_key": "k"}
    return ask(stage, operation, headers=JSON, body=json.dumps(body))


def of_what_is_over(stage, operation):
    if operation.name == "cancelTask":
        name = submit(stage).body["id"]
        end(stage, name)
    else:
        name = post(stage, "/v1/redrives", {"reason": "nobody has this"}).body["id"]
    return ask(stage, operation, name=name)


def of_what_lives(stage, operation):
    return ask(stage, operation, name=submit(stage).body["id"])


def of_what_ended(stage, operation):
    name = submit(stage).body["id"]
    end(stage, name)
    return ask(stage, operation, name=name, headers=JSON, body='{"delay_seconds": 1}')


def beside_its_successor(stage, operation):
    stage.record()
    dead = submit(stage, max_attempts=1, payload={"discard": "never"}).body["id"]
    end(stage, dead)
    stage.record()
    name = post(stage, "/v1/redrives", {}).body["id"]
    post(stage, f"/v1/redrives/{name}/stop")
    post(stage, "/v1/redrives", {})
    return ask(stage, operation, name=name)


def a_schedule(stage, *, zone="UTC", is_managed=False):
    definition = Definition(task=Raw(b'{"type":"echo"}'), cron="0 0 * * *", timezone=zone)
    moments = {"next_at_ms": None, "decided_at_ms": Millis(0)}
    stage.schedules.make(
        Draft(
            tenant=DEFAULT_TENANT,
            name=NOBODY,
            definition=definition,
            is_managed=is_managed,
            paused=Pausing(Millis(0), "ada"),
            **moments,
        )
    )


def at_no_time(stage, operation):
    if operation.name in SCHEDULING:
        body = scheduled(operation, {"type": "echo"}, cron="0 0 31 2 *")
    else:
        a_schedule(stage, zone="Mars/Olympus")
        body = {"from": "2026-01-01T00:00:00Z", "until": "2026-01-01T00:00:00Z"}
    return ask(stage, operation, headers=JSON, body=json.dumps(body))


def of_another_name(stage, operation):
    a_schedule(stage)
    body = scheduled(operation, {"type": "echo", "payload": {"say": 1}})
    return ask(stage, operation, headers=JSON, body=json.dumps(body))


def of_another_revision(stage, operation):
    a_schedule(stage)
    body = scheduled(operation, {"type": "echo"}, revision=99)
    return ask(stage, operation, headers=JSON, body=json.dumps(body))


def of_a_folder(stage, operation):
    a_schedule(stage, is_managed=True)
    body = scheduled(operation, {"type": "echo"})
    return ask(stage, operation, headers=JSON, body=json.dumps(body))


def of_what_was_refused(stage, operation):
    named = keyed_id("default", TaskType("nobody"), "k")
    for task_id in (NOBODY, named):
        stage.requests.add(
            [Enqueue(task_id=task_id, submission="s", request=b'{"type": "nobody"}')]
        )
    if operation.name == "listTasks":
        return ask(stage, operation, query={"type": "nobody", "idempotency_key": "k"})
    return ask(stage, operation, headers=JSON, body='{"delay_seconds": 1}')


PROVOKED = {
    "already_exists": of_another_name,
    "already_finished": of_what_is_over,
    "another_job_lives": beside_its_successor,
    "bad_request": with_what_is_no_json,
    "changed_meanwhile": of_another_revision,
    "enqueue_refused": of_what_was_refused,
    "forbidden": lambda stage, operation: ask(stage, operation, headers={"Taskmill-Depth": "1"}),
    "idempotency_key_reused": under_a_used_key,
    "internal_error": by_a_fault_of_ours,
    "invalid_payload": ask_with({"type": "echo", "payload": 1}),
    "invalid_request": in_unknown_words,
    "invalid_schedule": at_no_time,
    "managed_schedule": of_a_folder,
    "not_found": of_nobody,
    "not_redrivable": of_what_lives,
    "not_supported_yet": ask_with({"type": "echo", "cost": 3}),
    "not_waiting": of_what_ended,
    "payload_conflict": ask_with({"type": "echo", "payload": 1, "payload_ref": POINTER}),
    "payload_missing": ask_with({"type": "echo", "payload_ref": POINTER}),
    "payload_too_large": ask_with({"type": "echo", "payload": {"say": "x" * 300_000}}),
    "request_too_large": ask_with({"tasks": ["x" * 6_000_000]}),
    "unauthorized": without_a_key,
    "unavailable": without_stores,
    "unknown_type": of_no_type,
    "unsupported_media_type": lambda stage, operation: ask(stage, operation, body="{}"),
}


@pytest.mark.parametrize(
    ("operation", "problem"), REFUSALS, ids=lambda value: getattr(value, "name", value)
)
def test_every_refusal_that_is_described_can_be_met(stage, operation, problem):
    answer = PROVOKED[problem](stage, operation)
    assert (answer.status, answer.body["type"]) == (PROBLEMS[problem].status, problem)
