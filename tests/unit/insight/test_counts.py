"""The functions on a task's way count its events."""

import json

import pytest

from functions.dispatcher.handler import lambda_handler as dispatcher
from functions.gateway.handler import lambda_handler as gateway
from functions.recorder.handler import lambda_handler as recorder
from functions.workers.echo.handler import lambda_handler as echo
from taskmill.core import topics
from taskmill.core.counting import Count, Span
from taskmill.core.log import Position
from taskmill.core.task import TaskType
from taskmill.worker import Retry, serve
from tests.builders import a_log_record, an_envelope
from tests.unit.stage import Stage, an_http_event


@pytest.fixture
def stage(monkeypatch):
    stage = Stage()
    stage.bind(monkeypatch)
    return stage


def ask(stage, body, path="/v1/tasks"):
    headers = {"Content-Type": "application/json"}
    event = an_http_event("POST", path, headers=headers, body=json.dumps(body))
    return gateway(event, stage.context())["statusCode"]


def test_a_task_is_counted_at_each_hop(stage):
    assert ask(stage, {"type": "echo", "payload": {"say": "hello"}}) == 202
    stage.run(dispatcher, topics.PENDING)
    stage.run(echo, "tasks.worker.echo")
    stage.run(recorder, topics.EVENTS)
    total, times = stage.counters.total, stage.counters.times
    assert total(Count.SUBMISSIONS, type="echo", answer="created") == 1
    assert total(Count.ENTERED, type="echo", answer="waits") == 1
    assert total(Count.CLAIMS, type="echo", answer="claimed") == 1
    assert total(Count.ATTEMPTS, type="echo", end="succeeded") == 1
    assert total(Count.SETTLEMENTS, answer="settled") == 1
    assert total(Count.FACTS, kind="TaskSucceeded") == 1
    assert len(times(Span.WAIT, type="echo")) == len(times(Span.ATTEMPT, type="echo")) == 1


def test_a_replay_and_a_conflict_are_told_apart(stage):
    for say in ("a", "a", "b"):
        ask(stage, {"type": "echo", "payload": {"say": say}, "idempotency_key": "k"})
    total = stage.counters.total
    assert total(Count.SUBMISSIONS, answer="created") == 1
    assert total(Count.SUBMISSIONS, answer="replayed") == 1
    assert total(Count.SUBMISSIONS, answer="conflict") == 1
    assert total(Count.REFUSALS, reason="idempotency_key_reused") == 1


def test_refusals_in_a_batch_are_counted_one_by_one(stage):
    tasks = [{"type": "echo", "payload": {}}, {"type": "nobody"}, {"type": "nobody"}]
    assert ask(stage, {"tasks": tasks}, "/v1/tasks/batch") == 200
    assert stage.counters.total(Count.SUBMISSIONS, answer="created") == 1
    assert stage.counters.total(Count.REFUSALS, reason="unknown_type") == 2


def test_a_failed_task_is_counted_as_dead(stage):
    assert ask(stage, {"type": "echo", "payload": {"discard": "no"}}) == 202
    stage.run(dispatcher, topics.PENDING)
    stage.run(echo, "tasks.worker.echo")
    assert stage.counters.total(Count.DEAD, type="echo", reason="discarded") == 1
    assert stage.counters.total(Count.ATTEMPTS, type="echo", end="died") == 1


def test_a_second_copy_is_counted_as_over(stage):
    ask(stage, {"type": "echo", "payload": {}})
    for _ in range(2):
        stage.run(dispatcher, topics.PENDING)
        stage.run(echo, "tasks.worker.echo")
    assert stage.counters.total(Count.CLAIMS, answer="over") == 1


def test_undecodable_bytes_are_counted_when_sent_away_and_when_kept(stage):
    at = Position("tasks.worker.echo", 0, 7)
    stage.log.send_undecodable(a_log_record(b"?", at), "no task")
    stage.log.flush()
    stage.run(recorder, topics.DLQ)
    assert stage.counters.total(Count.QUARANTINED, topic="tasks.worker.*") == 1


@pytest.mark.parametrize(("in_doubt", "counted"), [(True, 1), (False, 0)])
def test_a_try_whose_effect_may_be_there_is_counted_as_a_possible_duplicate(
    stage, in_doubt, counted
):
    unsure = serve(dict[str, str], lambda _: Retry("cut off", may_have_worked=in_doubt))
    task = an_envelope(type=TaskType("echo"))
    assert stage.deliver(unsure, task) == {"batchItemFailures": []}
    assert stage.counters.total(Count.IN_DOUBT, type="echo") == counted
    assert stage.counters.total(Count.ATTEMPTS, type="echo", end="retried") == 1
