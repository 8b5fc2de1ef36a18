"""Dead tasks, histories and the quarantine over HTTP."""

import json
from base64 import b64decode, b64encode
from hashlib import sha256

import pytest

from taskmill.core import topics
from taskmill.core.log import Position
from taskmill.stores.api_keys import ApiKeys
from taskmill.worker import serve
from tests.builders import a_claim, a_death, a_log_record, started, succeeded
from tests.contracts.hot import next_turn
from tests.unit.gateway.calls import NOBODY, call, end, get, post, submit
from tests.unit.stage import Stage


@pytest.fixture
def stage(monkeypatch):
    stage = Stage()
    stage.bind(monkeypatch)
    return stage


def settle(stage, task_id, make):
    """End a worker's attempt with the facts of *make*, and publish them."""
    leases = stage.leases
    (task,) = [one for one in stage.log.tasks(topics.PENDING) if one.id == task_id]
    (claimed,) = leases.claim([a_claim(task)])
    settlement = make(task, claimed.token)
    leases.settle([settlement])
    stage.log.send_facts(settlement.facts)
    stage.log.flush()
    stage.record()


def dead(stage, **fields):
    task = submit(stage, **fields).body
    settle(stage, task["id"], a_death)
    return task["id"]


def test_the_dead_are_listed_with_when_and_why_they_failed(stage):
    task_id = dead(stage)
    submit(stage)
    stage.record()
    page = get(stage, "/v1/tasks", status="dead", reason="failed", error_class="ValueError")
    (task,) = page.body["tasks"]
    assert (task["id"], task["status"], task["reason"]) == (task_id, "dead", "failed")
    assert task["error"] == {"class": "ValueError", "message": "no"}
    assert task["first_failed_at"] == task["last_failed_at"] == "2026-11-06T21:20:00.050Z"
    assert page.body["as_of"] is not None
    assert get(stage, "/v1/tasks", status="dead", reason="poison").body["tasks"] == []
    never = get(stage, "/v1/tasks", status="dead", dead_before="2026-01-01T00:00:00Z")
    assert never.body["tasks"] == []


def test_a_cursor_walks_the_dead_from_the_latest_on(stage):
    first = dead(stage)
    stage.pass_time(milliseconds=1_000)
    second = dead(stage)
    page = get(stage, "/v1/tasks", status="dead", limit="1").body
    rest = get(stage, "/v1/tasks", status="dead", limit="1", cursor=page["next_cursor"]).body
    assert [task["id"] for task in page["tasks"] + rest["tasks"]] == [second, first]
    assert rest["next_cursor"] is None


@pytest.mark.parametrize("name", ["reason", "error_class", "dead_after", "dead_before"])
def test_a_filter_of_the_dead_needs_the_dead(stage, name):
    assert get(stage, "/v1/tasks", **{name: "x"}).kind == (422, "invalid_request", name)
    answer = get(stage, "/v1/tasks", status="queued", **{name: "x"})
    assert answer.kind == (422, "invalid_request", name)


def test_a_history_tells_facts_and_attempts(stage):
    task = submit(stage).body
    settle(stage, task["id"], lambda one, token: next_turn(one, token, due_at_ms=stage.clock()))
    post(stage, f"/v1/tasks/{task['id']}/cancel")
    stage.record()
    answer = get(stage, f"/v1/tasks/{task['id']}/history")
    assert answer.status == 200
    facts = answer.body["facts"]
    assert [(one["kind"], one["turn"]) for one in facts] == [
        ("submitted", 1),
        ("deferred", 1),
        ("cancelled", 2),
    ]
    assert {one["generation"] for one in facts} == {task["generation"]}
    assert facts[1]["next_attempt_at"] == "2026-11-06T21:20:01.000Z"
    assert facts[2]["started_at"] is None
    (attempt,) = answer.body["attempts"]
    assert (attempt["outcome"], attempt["attempt"]) == ("deferred", 1)
    assert attempt["started_at"] < attempt["ended_at"]


def test_a_first_try_that_redis_forgot_is_an_attempt_that_was_lost(stage):
    """Killed with all of Redis, it made no loss: only its start is known."""
    submitted = submit(stage).body["id"]
    (task,) = [one for one in stage.log.tasks(topics.PENDING) if one.id == submitted]
    stage.log.send_facts([started(task, token=1), succeeded(task, token=2)])
    stage.log.flush()
    stage.record()
    attempts = get(stage, f"/v1/tasks/{task.id}/history").body["attempts"]
    assert [(one["attempt"], one["outcome"]) for one in attempts] == [(1, "lost"), (1, "succeeded")]
    assert "ended_at" not in attempts[0]


def test_an_attempt_that_runs_has_no_outcome_yet(stage):
    submitted = submit(stage).body["id"]
    (task,) = [one for one in stage.log.tasks(topics.PENDING) if one.id == submitted]
    stage.log.send_facts([started(task, token=1)])
    stage.log.flush()
    stage.record()
    (attempt,) = get(stage, f"/v1/tasks/{task.id}/history").body["attempts"]
    assert "outcome" not in attempt


def test_a_result_is_not_in_the_history(stage):
    task = submit(stage, payload={"say": "hello"}).body
    end(stage, task["id"])
    stage.record()
    facts = get(stage, f"/v1/tasks/{task['id']}/history").body["facts"]
    assert [one["kind"] for one in facts] == ["submitted", "succeeded"]
    assert "hello" not in json.dumps(facts)


def test_a_history_tells_of_a_result_that_is_hard_to_read(stage):
    task = submit(stage).body
    worker = serve(dict, lambda _payload: -(10**4_299))
    stage.deliver(worker, *(one for one in stage.log.tasks(topics.PENDING) if one.id == task["id"]))
    stage.record()
    answer = get(stage, f"/v1/tasks/{task['id']}/history")
    assert [one["kind"] for one in answer.body["facts"]] == ["submitted", "succeeded"]
    assert get(stage, f"/v1/tasks/{task['id']}").body["result"] == -(10**4_299)


def test_a_history_that_the_ledger_has_not_heard_of_is_not_told_as_none(stage):
    task = submit(stage).body
    assert get(stage, f"/v1/tasks/{task['id']}/history").kind == (503, "unavailable", None)
    assert get(stage, f"/v1/tasks/{NOBODY}/history").kind == (503, "unavailable", None)
    stage.record()
    assert get(stage, f"/v1/tasks/{NOBODY}/history").kind == (404, "not_found", None)
    assert get(stage, "/v1/tasks/17/history").kind == (404, "not_found", None)


def quarantined(stage, value=b"\x00\xff"):
    at = Position("tasks.pending", 0, 7)
    stage.log.send_undecodable(a_log_record(value, at, who="else"), "no batch")
    stage.log.flush()
    stage.record(topics.DLQ)


IN_QUARANTINE = {
    "id": "tasks.pending:0:7:0",
    "topic": "tasks.pending",
    "partition": 0,
    "offset": 7,
    "at": "2026-11-06T21:20:00.000Z",
    "reason": "no batch",
    "size": 2,
    "header_names": ["who"],
}


def test_the_quarantine_lists_where_records_stood_and_nothing_that_they_hold(stage):
    quarantined(stage)
    answer = get(stage, "/v1/quarantine")
    assert answer.body == {"records": [IN_QUARANTINE], "next_cursor": None}


def test_one_record_of_the_quarantine_shows_its_bytes(stage):
    quarantined(stage)
    answer = get(stage, "/v1/quarantine/tasks.pending:0:7:0")
    inside = {
        "value_base64": b64encode(b"\x00\xff").decode(),
        "headers_base64": {"who": b64encode(b"else").decode()},
    }
    assert answer.body == IN_QUARANTINE | inside


def test_of_a_long_record_the_beginning_is_shown(stage):
    quarantined(stage, b"x" * 70_000)
    answer = get(stage, "/v1/quarantine/tasks.pending:0:7:0").body
    assert (answer["size"], b64decode(answer["value_base64"])) == (70_000, b"x" * 65_536)


def test_a_record_is_discarded_by_somebody_and_kept(stage):
    quarantined(stage)
    hashed = sha256(b"the key").hexdigest()
    stage.ports.api_keys = ApiKeys(lambda: json.dumps({"ann": hashed}))
    key = {"Authorization": "Bearer the key"}
    path = "/v1/quarantine/tasks.pending:0:7:0/discard"
    answer = call(stage, "POST", path, headers=key)
    assert (answer.status, answer.body["discarded_by"]) == (200, "ann")
    assert call(stage, "GET", "/v1/quarantine", headers=key).body["records"] == []
    kept = call(stage, "GET", "/v1/quarantine", headers=key, query={"discarded": "true"})
    assert kept.body["records"] == [answer.body]


@pytest.mark.parametrize("name", ["tasks.pending:0:8:0", "17", "a:b:c:d", "%00"])
def test_a_record_that_is_not_there_is_neither_shown_nor_discarded(stage, name):
    quarantined(stage)
    assert post(stage, f"/v1/quarantine/{name}/discard").kind == (404, "not_found", None)
    assert get(stage, f"/v1/quarantine/{name}").kind == (404, "not_found", None)


@pytest.mark.parametrize(
    ("asked", "kind"),
    [
        ({"odd": "1"}, (422, "invalid_request", "odd")),
        ({"discarded": "yes"}, (422, "invalid_request", "discarded")),
        ({"limit": "0"}, (422, "invalid_request", "limit")),
        ({"cursor": "x"}, (400, "bad_request", None)),
    ],
)
def test_a_list_of_the_quarantine_is_asked_for_in_known_words(stage, asked, kind):
    assert get(stage, "/v1/quarantine", **asked).kind == kind


def test_the_quarantine_is_walked(stage):
    for offset in (7, 8):
        at = Position("tasks.pending", 0, offset)
        stage.log.send_undecodable(a_log_record(b"x", at), "no batch")
    stage.log.flush()
    stage.record(topics.DLQ)
    page = get(stage, "/v1/quarantine", limit="1").body
    rest = get(stage, "/v1/quarantine", limit="1", cursor=page["next_cursor"]).body
    assert [one["offset"] for one in page["records"] + rest["records"]] == [8, 7]


def test_without_the_ledger_nobody_looks_back(stage):
    task_id = dead(stage)
    stage.ledger.is_away = True
    for path in ("/v1/quarantine", "/v1/quarantine/t:0:0:0", f"/v1/tasks/{task_id}/history"):
        assert get(stage, path).kind == (503, "unavailable", None)
    assert get(stage, "/v1/tasks", status="dead").kind == (503, "unavailable", None)
    assert post(stage, "/v1/quarantine/t:0:0:0/discard").kind == (503, "unavailable", None)


def test_a_history_tells_the_end_that_its_reader_has_seen(stage):
    task = submit(stage).body
    stage.record()
    end(stage, task["id"])
    path = f"/v1/tasks/{task['id']}/history"
    kinds = [fact["kind"] for fact in get(stage, path).body["facts"]]
    assert kinds == ["submitted"], "no longer than a moment, then what there is"
    stage.on_wait[:] = [stage.record]
    kinds = [fact["kind"] for fact in get(stage, path).body["facts"]]
    assert kinds == ["submitted", "succeeded"]


def test_a_list_has_what_was_accepted_before_it_was_asked_for(stage):
    task = submit(stage).body
    assert get(stage, "/v1/tasks", wait="0").body["tasks"] == []
    before = stage.clock()
    assert get(stage, "/v1/tasks").body["tasks"] == []
    assert stage.clock() - before == 1_500, "no longer than a moment, then what there is"
    stage.on_wait[:] = [stage.record]
    assert [one["id"] for one in get(stage, "/v1/tasks").body["tasks"]] == [task["id"]]


def test_a_list_waits_as_long_as_it_is_told_to(stage):
    submit(stage)
    before = stage.clock()
    get(stage, "/v1/tasks", wait="5")
    assert 5_000 <= stage.clock() - before <= 5_100
    assert get(stage, "/v1/tasks", wait="26").kind == (422, "invalid_request", "wait")


def test_a_list_without_the_log_is_what_the_ledger_knows(stage):
    submit(stage)
    stage.log.is_away = True
    before = stage.clock()
    assert (get(stage, "/v1/tasks").status, stage.clock()) == (200, before)
