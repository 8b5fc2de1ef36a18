"""Cancelling and redriving over HTTP, whatever the task does meanwhile."""

import pytest

from functions.dispatcher.handler import lambda_handler as dispatcher
from taskmill.core import topics
from taskmill.core.counting import Count
from tests.builders import a_claim, a_death
from tests.unit.gateway.calls import NOBODY, die, end, get, post, submit
from tests.unit.stage import Stage


@pytest.fixture
def stage(monkeypatch):
    stage = Stage()
    stage.bind(monkeypatch)
    return stage


def begin(stage, task_id):
    (task,) = [one for one in stage.log.tasks(topics.PENDING) if one.id == task_id]
    stage.leases.claim([a_claim(task)])


def test_a_waiting_task_is_cancelled_and_stays_so(stage):
    task = submit(stage).body
    path = f"/v1/tasks/{task['id']}"
    result = post(stage, f"{path}/cancel")
    assert (result.status, result.body["status"]) == (200, "cancelled")
    assert result.body["finished_at"] == "2026-11-06T21:20:00.000Z"
    assert get(stage, path).body == result.body
    assert post(stage, f"{path}/cancel").body == result.body
    assert stage.counters.total(Count.CANCEL_ORDERS, order="end", answer="done") == 1


def test_a_running_task_is_asked_to_end(stage):
    task = submit(stage).body
    begin(stage, task["id"])
    first, second = (post(stage, f"/v1/tasks/{task['id']}/cancel") for _ in range(2))
    assert (first.status, first.body["status"]) == (202, "running")
    assert first.body["cancel_requested"] is True
    assert first.headers["Location"] == f"/v1/tasks/{task['id']}"
    assert (second.status, second.body) == (202, first.body)


def test_what_has_ended_is_not_cancelled(stage):
    task = submit(stage).body
    end(stage, task["id"])
    result = post(stage, f"/v1/tasks/{task['id']}/cancel")
    assert result.kind == (409, "already_finished", None)
    assert "it is succeeded" in result.body["detail"]


@pytest.mark.parametrize("name", [NOBODY, "17", "%00"])
def test_nobody_is_not_found(stage, name):
    assert post(stage, f"/v1/tasks/{name}/cancel").kind == (404, "not_found", None)


def test_nothing_is_cancelled_while_redis_cannot_say(stage):
    task = submit(stage).body
    stage.hot.restart()
    assert post(stage, f"/v1/tasks/{task['id']}/cancel").kind == (503, "unavailable", None)


def test_a_dead_task_is_redriven_and_told_alike_twice(stage):
    task = die(stage)
    path = f"/v1/tasks/{task['id']}/redrive"
    first, second = post(stage, path), post(stage, path)
    assert (first.status, first.body["status"]) == (202, "queued")
    assert first.body["generation"] == task["generation"] + 1_000
    assert first.headers["Location"] == f"/v1/tasks/{task['id']}"
    assert (second.status, second.body) == (202, first.body)
    assert get(stage, f"/v1/tasks/{task['id']}").body == first.body
    assert stage.counters.total(Count.REDRIVEN, type="echo", answer="done") == 1


def test_what_is_not_over_is_not_redriven(stage):
    task = submit(stage).body
    result = post(stage, f"/v1/tasks/{task['id']}/redrive")
    assert result.kind == (409, "not_redrivable", None)
    assert "the task is queued" in result.body["detail"]


@pytest.mark.parametrize("name", ["17", "%00"])
def test_nobody_is_not_redriven(stage, name):
    assert post(stage, f"/v1/tasks/{name}/redrive").kind == (404, "not_found", None)


def test_nothing_is_redriven_while_redis_or_the_ledger_cannot_say(stage):
    task = die(stage)
    path = f"/v1/tasks/{task['id']}/redrive"
    stage.ledger.is_away = True
    assert post(stage, path).kind == (503, "unavailable", None)
    stage.ledger.is_away = False
    stage.hot.restart()
    assert post(stage, path).kind == (503, "unavailable", None)


def test_a_death_of_a_moment_ago_is_redriven_once_the_ledger_has_heard_of_it(stage):
    task = submit(stage).body
    (envelope,) = stage.log.tasks(topics.PENDING)
    leases = stage.leases
    (claimed,) = leases.claim([a_claim(envelope)])
    settlement = a_death(envelope, claimed.token)
    leases.settle([settlement])
    stage.log.send_facts(settlement.facts)
    stage.log.flush()
    path = f"/v1/tasks/{task['id']}/redrive"
    assert post(stage, path).kind == (503, "unavailable", None)
    stage.on_wait[:] = [stage.record]
    result = post(stage, path)
    assert (result.status, result.body["status"]) == (202, "queued")


def test_what_waits_far_ahead_is_not_redriven(stage):
    task = submit(stage, delay_seconds=3_600).body
    stage.run(dispatcher, topics.PENDING)
    stage.record()
    stage.hot.forget()
    stage.hot.open()
    result = post(stage, f"/v1/tasks/{task['id']}/redrive")
    assert result.kind == (409, "not_redrivable", None)
