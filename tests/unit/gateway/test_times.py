"""Times in requests: their meaning, and refusals that name the field."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from functions.dispatcher.handler import lambda_handler as dispatcher
from taskmill.core import topics
from taskmill.core.counting import Count
from taskmill.stores.memory.hot import Holding
from tests.unit.gateway.calls import JSON, NOBODY, batch, call, end, get, submit
from tests.unit.stage import Stage, do_job

INVALID = "invalid_request"


@pytest.fixture
def stage(monkeypatch):
    stage = Stage()
    stage.bind(monkeypatch)
    return stage


def at(stage, **ahead):
    moment = datetime.fromtimestamp(stage.clock() / 1000, UTC) + timedelta(**ahead)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def dispatched(stage, **fields):
    task = submit(stage, **fields).body
    stage.run(dispatcher, topics.PENDING)
    return task


def patch(stage, task_id, body):
    text = body if isinstance(body, str) else json.dumps(body)
    return call(stage, "PATCH", f"/v1/tasks/{task_id}", headers=JSON, body=text)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"delay_seconds": -1}, "delay_seconds"),
        ({"delay_seconds": -0.001}, "delay_seconds"),
        ({"delay_seconds": 1e308}, "delay_seconds"),
        ({"delay_seconds": 400 * 86_400 + 1}, "delay_seconds"),
        ({"delay_seconds": "5"}, "delay_seconds"),
        ({"delay_seconds": True}, "delay_seconds"),
        ({"delay_seconds": None}, "delay_seconds"),
        ({"delay_seconds": 1, "run_at": "2026-11-06T21:20:00Z"}, "delay_seconds"),
        ({"run_at": "2026-11-06T21:20:00"}, "run_at"),
        ({"run_at": "2026-11-06"}, "run_at"),
        ({"run_at": "2026-W45-5T21:20:00Z"}, "run_at"),
        ({"run_at": "tomorrow"}, "run_at"),
        ({"run_at": ""}, "run_at"),
        ({"run_at": "2026-11-06T23:59:60Z"}, "run_at"),
        ({"run_at": "2026-02-30T00:00:00Z"}, "run_at"),
        ({"run_at": "2026-11-06T21:20:00+25:00"}, "run_at"),
        ({"run_at": "\uff12026-11-06T21:20:00Z"}, "run_at"),
        ({"run_at": "9999-12-31T23:59:59Z"}, "run_at"),
        ({"run_at": "2028-11-06T21:20:00Z"}, "run_at"),
        ({"run_at": -1}, "run_at"),
        ({"run_at": 1e18}, "run_at"),
        ({"run_at": None}, "run_at"),
        ({"expires_at": "soon"}, "expires_at"),
        ({"expires_at": "9999-12-31T23:59:59Z"}, "expires_at"),
        ({"run_at": "2026-11-07T00:00:00Z", "expires_at": "2026-11-07T00:00:00Z"}, "expires_at"),
    ],
    ids=str,
)
def test_a_time_that_cannot_be_meant_is_refused(stage, given, field):
    assert submit(stage, **given).kind == (422, INVALID, f"/{field}")
    (result,) = batch(stage, {"type": "echo"} | given).body["results"]
    assert (result["status"], result["error"]["field"]) == (422, f"/{field}")


def test_a_delay_beyond_its_expiry_is_refused(stage):
    given = {"delay_seconds": 3600, "expires_at": at(stage, hours=1)}
    for key in ({}, {"idempotency_key": "k"}):
        assert submit(stage, **given, **key).kind == (422, INVALID, "/expires_at")
        (result,) = batch(stage, {"type": "echo"} | given | key).body["results"]
        assert (result["status"], result["error"]["field"]) == (422, "/expires_at")
    assert stage.log.tasks(topics.PENDING) == []


@pytest.mark.parametrize("key", ["near", "far"])
def test_a_request_whose_delay_was_in_time_gets_its_task_again(stage, key):
    """Of a far task Redis forgets all but what its key needs."""
    seconds = {"near": 60, "far": 36_000}[key]
    given = {
        "delay_seconds": seconds,
        "expires_at": at(stage, seconds=seconds + 1),
        "idempotency_key": key,
    }
    task = dispatched(stage, **given)
    stage.record()
    stage.pass_time(milliseconds=seconds * 500)
    again = submit(stage, **given)
    assert (again.status, again.body["id"], again.body["replayed"]) == (200, task["id"], True)
    (result,) = batch(stage, {"type": "echo"} | given).body["results"]
    assert (result["status"], result["task"]["id"]) == (200, task["id"])


def test_a_delay_beyond_its_expiry_is_taken_while_nobody_can_say_whether_it_is_new(stage):
    stage.hot.restart()
    given = {"delay_seconds": 3600, "expires_at": at(stage, hours=1)}
    assert submit(stage, **given).status == 422
    assert submit(stage, **given, idempotency_key="k").status == 202


@pytest.mark.parametrize("text", ["NaN", "Infinity", "1e400"])
def test_what_is_no_number_is_no_json(stage, text):
    body = f'{{"type": "echo", "delay_seconds": {text}}}'
    assert call(stage, "POST", "/v1/tasks", headers=JSON, body=body).status == 400


@pytest.mark.parametrize(
    ("given", "run_at"),
    [
        ({"delay_seconds": 90}, "2026-11-06T21:21:30.000Z"),
        ({"delay_seconds": 0.0001}, "2026-11-06T21:20:00.001Z"),
        ({"delay_seconds": 400 * 86_400}, "2027-12-11T21:20:00.000Z"),
        ({"run_at": "2026-11-06T22:20:00Z"}, "2026-11-06T22:20:00.000Z"),
        ({"run_at": "2026-11-06t23:20:00.000001+01:00"}, "2026-11-06T22:20:00.001Z"),
        ({"run_at": "2027-02-28T23:59:59.999-11:59"}, "2027-03-01T11:58:59.999Z"),
    ],
    ids=str,
)
def test_a_time_is_told_and_the_task_is_scheduled(stage, given, run_at):
    reply = submit(stage, **given)
    assert (reply.status, reply.body["status"], reply.body["run_at"]) == (202, "scheduled", run_at)
    assert get(stage, f"/v1/tasks/{reply.body['id']}").body == reply.body


@pytest.mark.parametrize(
    "given",
    [
        {"delay_seconds": 0},
        {"run_at": "2026-11-06T21:20:00Z"},
        {"run_at": "1969-01-01T00:00:00Z"},
        {"run_at": "0001-01-01T00:00:00+14:00"},
        {"expires_at": "2027-01-01T00:00:00Z"},
    ],
    ids=str,
)
def test_what_is_past_is_now(stage, given):
    assert submit(stage, **given).body["status"] == "queued"


def test_the_same_request_is_the_same_task_however_late_it_is_repeated(stage):
    wanted = {
        "idempotency_key": "k",
        "run_at": at(stage, hours=1),
        "expires_at": at(stage, hours=2),
    }
    first = submit(stage, **wanted)
    stage.pass_time(milliseconds=3 * 3_600_000)
    again = submit(stage, **wanted)
    assert (again.status, again.body["id"]) == (200, first.body["id"])
    other = submit(
        stage, **wanted | {"run_at": at(stage, hours=5), "expires_at": at(stage, days=1)}
    )
    assert other.kind == (422, "idempotency_key_reused", "/idempotency_key")


def test_a_delayed_task_goes_to_its_worker_at_its_time_and_no_sooner(stage):
    submit(stage, delay_seconds=60)
    assert stage.run(dispatcher, topics.PENDING) == {"batchItemFailures": []}
    for later, waiting in ((59_999, 0), (1, 1)):
        stage.pass_time(milliseconds=later)
        do_job("publish_due")
        assert len(stage.waiting()) == waiting
    assert stage.counters.total(Count.DELAYED, answer="near") == 1


def test_a_far_task_is_brought_near_by_the_scheduler(stage):
    submit(stage, delay_seconds=3600)
    stage.run(dispatcher, topics.PENDING)
    stage.record()
    assert do_job("bring_near") == 0
    stage.pass_time(milliseconds=3_000_001)
    assert do_job("bring_near") == 1
    stage.pass_time(milliseconds=600_000)
    do_job("publish_due")
    assert len(stage.waiting()) == 1


def test_what_waits_can_be_put_off_and_marked(stage):
    task = dispatched(stage, delay_seconds=60, metadata={"a": "1"})
    reply = patch(stage, task["id"], {"run_at": at(stage, hours=1), "metadata": {"b": "2"}})
    assert (reply.status, reply.body["status"]) == (200, "scheduled")
    assert (reply.body["run_at"], reply.body["metadata"]) == (at(stage, hours=1), {"b": "2"})
    assert get(stage, f"/v1/tasks/{task['id']}").body == reply.body
    stage.record()
    history = get(stage, f"/v1/tasks/{task['id']}/history").body["facts"]
    assert [fact["kind"] for fact in history] == ["submitted", "changed"]
    assert (history[1]["run_at"], history[1]["metadata"]) == (at(stage, hours=1), {"b": "2"})
    assert stage.counters.total(Count.CHANGES, answer="done") == 1


def test_what_waits_can_get_another_priority(stage):
    task = dispatched(stage, delay_seconds=60, priority="low")
    reply = patch(stage, task["id"], {"priority": 2})
    assert (reply.body["priority"], reply.body["run_at"]) == ("high", task["run_at"])
    assert get(stage, f"/v1/tasks/{task['id']}").body == reply.body
    stage.record()
    (listed,) = get(stage, "/v1/tasks").body["tasks"]
    assert listed["priority"] == "high"
    history = get(stage, f"/v1/tasks/{task['id']}/history").body["facts"]
    assert history[-1]["priority"] == "high"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("[]", (422, INVALID, "")),
        ("{}", (422, INVALID, "")),
        ({"odd": 1}, (422, INVALID, "")),
        ({"priority": "urgent"}, (422, INVALID, "/priority")),
        ({"priority": 4}, (422, INVALID, "/priority")),
        ({"fairness_key": "a"}, (422, INVALID, "")),
        ({"delay_seconds": -1}, (422, INVALID, "/delay_seconds")),
        ({"delay_seconds": 1, "run_at": "2026-11-06T22:20:00Z"}, (422, INVALID, "/delay_seconds")),
        ({"run_at": "2028-11-06T22:20:00Z"}, (422, INVALID, "/run_at")),
        ({"metadata": {"a": 1}}, (422, INVALID, "/metadata")),
        ({"metadata": {"a": "x" * 2_000}}, (422, INVALID, "/metadata")),
        ({"expires_at": "2026-11-06T22:20:00Z"}, (422, INVALID, "")),
    ],
    ids=str,
)
def test_a_change_that_cannot_be_meant_is_refused(stage, body, kind):
    task = submit(stage, delay_seconds=60).body
    assert patch(stage, task["id"], body).kind == kind
    assert get(stage, f"/v1/tasks/{task['id']}").body == task


def test_nothing_is_put_off_until_it_has_expired(stage):
    task = dispatched(stage, delay_seconds=60, expires_at=at(stage, hours=1))
    reply = patch(stage, task["id"], {"delay_seconds": 3600})
    assert reply.kind == (422, INVALID, "/run_at")
    assert "expires at 2026-11-06T22:20:00.000Z" in reply.body["detail"]


def test_what_may_run_after_a_rebuild_is_not_changed_now(stage):
    task = dispatched(stage)
    until = stage.clock() + 6_000
    holding = Holding(until_ms=until, limit_ms=None, source=None)
    stage.hot.record(task["id"]).holding = holding
    answer = patch(stage, task["id"], {"delay_seconds": 60})
    assert answer.status == 503
    assert "may be running" in answer.body["detail"]


def test_what_has_ended_is_not_changed(stage):
    task = submit(stage).body
    end(stage, task["id"])
    assert patch(stage, task["id"], {"delay_seconds": 1}).kind == (409, "not_waiting", None)


@pytest.mark.parametrize("name", [NOBODY, "17", "%00"])
def test_nobody_is_not_found(stage, name):
    assert patch(stage, name, {"delay_seconds": 1}).kind == (404, "not_found", None)


def test_a_task_that_has_expired_was_never_started(stage):
    task = submit(stage, expires_at=at(stage, seconds=1)).body
    stage.pass_time(milliseconds=1_001)
    end(stage, task["id"])
    for seen in (0, 1):
        reply = get(stage, f"/v1/tasks/{task['id']}").body
        assert (reply["status"], reply["reason"]) == ("dead", "expired")
        assert not {"started_at", "wait_ms", "duration_ms"} & set(reply)
        if seen == 0:
            stage.record()
            stage.hot.remove(task["id"])
