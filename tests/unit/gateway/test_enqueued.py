"""An enqueued request is readable from its commit on; a refused one has its reason."""

import json
from hashlib import sha256

import pytest

from taskmill.core.counting import Count
from taskmill.stores.api_keys import ApiKeys
from taskmill.submission.enqueued import Enqueue
from tests.unit.gateway.calls import NOBODY, call, get, post, submit
from tests.unit.stage import Stage, do_job


@pytest.fixture
def stage(monkeypatch):
    stage = Stage()
    stage.bind(monkeypatch)
    return stage


def enqueue(stage, task_id=NOBODY, **request):
    body = json.dumps({"type": "echo"} | request).encode()
    stage.requests.add([Enqueue(task_id=task_id, submission="s", request=body)])


def test_it_is_read_before_it_is_a_task_and_then_as_one(stage):
    enqueue(stage, metadata={"a": "b"}, delay_seconds=5)
    before = get(stage, f"/v1/tasks/{NOBODY}").body
    assert (before["id"], before["status"], before["metadata"]) == (
        NOBODY,
        "scheduled",
        {"a": "b"},
    )
    assert do_job("take_requests") == 1
    after = get(stage, f"/v1/tasks/{NOBODY}").body
    assert (after["status"], after["created_at"]) == (before["status"], before["created_at"])


@pytest.mark.parametrize("is_parked", [False, True])
def test_who_asks_for_what_is_refused_is_told_why(stage, is_parked):
    enqueue(stage, payload=1)
    if is_parked:
        do_job("take_requests")
    answer = get(stage, f"/v1/tasks/{NOBODY}")
    assert answer.kind == (410, "enqueue_refused", "/payload")
    assert "invalid_payload" in answer.body["detail"]


def test_who_asks_for_what_is_no_json_is_told_why(stage):
    stage.requests.add([Enqueue(task_id=NOBODY, submission="s", request=b'{"a": 1, "a": 2}')])
    assert get(stage, f"/v1/tasks/{NOBODY}").kind == (410, "enqueue_refused", None)


def test_a_task_is_shown_though_another_request_under_its_key_was_refused(stage):
    task = submit(stage, idempotency_key="k").body
    enqueue(stage, task["id"], idempotency_key="k", payload={"say": "something else"})
    do_job("take_requests")
    assert get(stage, f"/v1/tasks/{task['id']}").status == 200
    (listed,) = get(stage, "/v1/enqueued").body["requests"]
    assert (listed["task_id"], listed["reason"]) == (task["id"], "idempotency_key_reused")


def test_nobody_is_told_of_a_refusal_while_redis_cannot_be_asked(stage):
    """The task may be there all the same: another request may have made it."""
    enqueue(stage, payload=1)
    do_job("take_requests")
    stage.records.is_away = True
    assert get(stage, f"/v1/tasks/{NOBODY}").kind == (503, "unavailable", None)


def test_what_waits_cannot_be_cancelled_before_it_is_a_task(stage):
    enqueue(stage)
    assert post(stage, f"/v1/tasks/{NOBODY}/cancel").kind == (503, "unavailable", None)
    do_job("take_requests")
    assert post(stage, f"/v1/tasks/{NOBODY}/cancel").status == 200


def test_what_is_refused_is_listed_with_its_reason(stage):
    enqueue(stage, payload=1)
    enqueue(stage, "01a1b2c3-0000-7000-8000-000000000002")
    waiting = get(stage, "/v1/enqueued", state="waiting").body["requests"]
    assert [one["task_id"][-1] for one in waiting] == ["2", "1"]
    do_job("take_requests")
    assert get(stage, "/v1/enqueued", state="waiting").body["requests"] == []
    (answer,) = get(stage, "/v1/enqueued", state="parked").body["requests"]
    assert (answer["task_id"], answer["reason"], answer["field"]) == (
        NOBODY,
        "invalid_payload",
        "/payload",
    )
    assert stage.counters.total(Count.ENQUEUED_IN_VAIN) == 1


def test_what_is_refused_is_discarded_by_somebody_and_kept(stage):
    enqueue(stage, payload=1)
    do_job("take_requests")
    hashed = sha256(b"the key").hexdigest()
    stage.ports.api_keys = ApiKeys(lambda: json.dumps({"ann": hashed}))
    key = {"Authorization": "Bearer the key"}
    answer = call(stage, "POST", f"/v1/enqueued/{NOBODY}/discard", headers=key)
    assert (answer.status, answer.body["task_id"], answer.body["discarded_by"]) == (
        200,
        NOBODY,
        "ann",
    )
    assert call(stage, "GET", "/v1/enqueued", headers=key).body["requests"] == []
    kept = call(stage, "GET", "/v1/enqueued", headers=key, query={"state": "discarded"})
    assert kept.body["requests"] == [answer.body]
    stats = call(stage, "GET", "/v1/stats", headers=key).body
    assert stats["enqueued"]["parked"] == 0
    assert call(stage, "GET", f"/v1/tasks/{NOBODY}", headers=key).status == 410


def test_what_is_not_refused_is_not_discarded(stage):
    enqueue(stage)
    path = f"/v1/enqueued/{NOBODY}/discard"
    assert post(stage, path).kind == (404, "not_found", None)
    do_job("take_requests")
    assert post(stage, path).kind == (404, "not_found", None)
    assert post(stage, "/v1/enqueued/17/discard").kind == (404, "not_found", None)


def test_nothing_is_discarded_while_the_ledger_is_away(stage):
    stage.requests.is_away = True
    assert post(stage, f"/v1/enqueued/{NOBODY}/discard").kind == (503, "unavailable", None)


def test_the_list_is_walked(stage):
    for _ in range(3):
        enqueue(stage, payload=1)
    do_job("take_requests")
    page = get(stage, "/v1/enqueued", limit="2").body
    rest = get(stage, "/v1/enqueued", limit="2", cursor=page["next_cursor"]).body
    assert (len(page["requests"]), len(rest["requests"]), rest["next_cursor"]) == (2, 1, None)


@pytest.mark.parametrize(
    ("asked", "kind"),
    [
        ({"state": "done"}, (422, "invalid_request", "state")),
        ({"odd": "1"}, (422, "invalid_request", "odd")),
        ({"limit": "0"}, (422, "invalid_request", "limit")),
        ({"cursor": "x"}, (400, "bad_request", None)),
    ],
)
def test_the_list_is_asked_for_in_known_words(stage, asked, kind):
    assert call(stage, "GET", "/v1/enqueued", query=asked).kind == kind


def test_statistics_tell_how_many_wait_and_how_many_are_refused(stage):
    enqueue(stage, payload=1)
    do_job("take_requests")
    enqueue(stage, "01a1b2c3-0000-7000-8000-000000000002")
    stage.pass_time(milliseconds=1_500)
    answer = get(stage, "/v1/stats").body["enqueued"]
    assert answer == {"waiting": 1, "oldest_wait_seconds": 1.5, "parked": 1}
