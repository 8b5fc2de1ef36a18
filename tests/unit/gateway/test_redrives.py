"""Redrive jobs over HTTP: create once, watch, stop, resume."""

import pytest

from tests.unit.gateway.calls import NOBODY, call, die, get, post
from tests.unit.stage import Stage, do_job


@pytest.fixture
def stage(monkeypatch):
    stage = Stage()
    stage.bind(monkeypatch)
    return stage


def test_a_job_is_made_once_and_watched(stage):
    die(stage)
    made = post(stage, "/v1/redrives", {"reason": "failed", "rate_per_second": 5})
    assert made.status == 202
    assert made.headers["Location"] == f"/v1/redrives/{made.body['id']}"
    assert made.body == {
        "id": made.body["id"],
        "state": "running",
        "reason": "failed",
        "rate_per_second": 5,
        "limit": 100_000,
        "total": 1,
        "left": 1,
        "redriven": 0,
        "skipped": 0,
        "succeeded": 0,
        "failed": 0,
        "cancelled": 0,
        "created_at": "2026-11-06T21:20:01.000Z",
        "changed_at": "2026-11-06T21:20:01.000Z",
    }
    again = post(stage, "/v1/redrives", {"rate_per_second": 5, "reason": "failed"})
    assert (again.status, again.body) == (202, made.body)
    assert get(stage, f"/v1/redrives/{made.body['id']}").body == made.body
    assert get(stage, "/v1/redrives").body == {"redrives": [made.body]}


def test_the_scheduler_works_it_off(stage):
    task = die(stage)
    made = post(stage, "/v1/redrives", {}).body
    stage.pass_time(milliseconds=1_000)
    assert do_job("redrive_many") == 1
    answer = get(stage, f"/v1/redrives/{made['id']}").body
    assert (answer["redriven"], answer["left"], answer["state"]) == (1, 0, "running")
    assert get(stage, f"/v1/tasks/{task['id']}").body["status"] == "queued"


def test_a_job_is_stopped_and_taken_up_again(stage):
    die(stage)
    path = f"/v1/redrives/{post(stage, '/v1/redrives', {}).body['id']}"
    stopped = post(stage, f"{path}/stop")
    assert (stopped.status, stopped.body["state"]) == (200, "stopped")
    assert post(stage, f"{path}/stop").body == stopped.body
    assert do_job("redrive_many") == 0
    resumed = post(stage, f"{path}/resume")
    assert (resumed.status, resumed.body["state"]) == (202, "running")
    assert post(stage, f"{path}/resume").status == 202


def test_a_stopped_job_is_not_taken_up_beside_its_successor(stage):
    die(stage)
    path = f"/v1/redrives/{post(stage, '/v1/redrives', {}).body['id']}"
    post(stage, f"{path}/stop")
    post(stage, "/v1/redrives", {})
    assert post(stage, f"{path}/resume").kind == (409, "another_job_lives", None)


@pytest.mark.parametrize("verb", ["stop", "resume"])
def test_a_job_that_is_done_changes_no_more(stage, verb):
    made = post(stage, "/v1/redrives", {"reason": "nobody has this"}).body
    assert made["state"] == "done"
    answer = post(stage, f"/v1/redrives/{made['id']}/{verb}")
    assert answer.kind == (409, "already_finished", None)


REFUSED = [
    ({"odd": 1}, "/odd"),
    ({"rate_per_second": 0}, "/rate_per_second"),
    ({"rate_per_second": "fast"}, "/rate_per_second"),
    ({"limit": 0}, "/limit"),
    ({"limit": 1.5}, "/limit"),
    ({"reason": ""}, "/reason"),
    ({"dead_after": "yesterday"}, "/dead_after"),
    ({"dead_before": "2026-01-01"}, "/dead_before"),
    ([], ""),
]


@pytest.mark.parametrize(("body", "field"), REFUSED, ids=[str(body) for body, _ in REFUSED])
def test_a_job_is_asked_for_in_known_words(stage, body, field):
    answer = post(stage, "/v1/redrives", body)
    if field == "/odd":
        assert answer.kind[:2] == (422, "invalid_request")
        assert "odd" in answer.body["detail"]
    else:
        assert answer.kind == (422, "invalid_request", field)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("0001-01-01T00:00:00+23:59", "0001-01-01T00:00:00.000Z"),
        ("9999-12-31T23:59:59-14:00", "9999-12-31T23:59:59.000Z"),
        ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999Z"),
    ],
)
def test_a_job_at_the_edge_of_the_calendar_can_be_shown(stage, given, shown):
    made = post(stage, "/v1/redrives", {"dead_before": given})
    assert (made.status, made.body["dead_before"]) == (202, shown)
    assert get(stage, "/v1/redrives").status == 200


def test_what_is_no_json_makes_no_job(stage):
    headers = {"Content-Type": "application/json"}
    answer = call(stage, "POST", "/v1/redrives", headers=headers, body="{")
    assert answer.kind == (400, "bad_request", None)
    assert call(stage, "POST", "/v1/redrives", body="{}").status == 415
    assert get(stage, "/v1/redrives", odd="1").kind == (422, "invalid_request", "odd")


@pytest.mark.parametrize("name", [NOBODY, "17", "%00"])
def test_nobody_knows_a_job_that_was_never_made(stage, name):
    assert get(stage, f"/v1/redrives/{name}").kind == (404, "not_found", None)
    for verb in ("stop", "resume"):
        assert post(stage, f"/v1/redrives/{name}/{verb}").kind == (404, "not_found", None)


def test_without_the_ledger_there_are_no_jobs(stage):
    stage.ledger.is_away = True
    assert post(stage, "/v1/redrives", {}).kind == (503, "unavailable", None)
    assert get(stage, "/v1/redrives").kind == (503, "unavailable", None)
    assert get(stage, f"/v1/redrives/{NOBODY}").kind == (503, "unavailable", None)
