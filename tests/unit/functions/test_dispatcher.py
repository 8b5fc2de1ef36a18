"""The dispatcher puts tasks in line; what cannot be decided now comes again."""

import pytest

from functions.dispatcher.handler import lambda_handler as dispatcher
from taskmill.domain import topics
from taskmill.domain.errors import StoreUnavailable
from taskmill.domain.facts import TaskDied
from taskmill.domain.task import Status, TaskId, TaskType
from tests.builders import an_envelope
from tests.unit.functions.stage import NOW, Stage

ECHO = topics.worker(TaskType("echo"))


@pytest.fixture
def stage(monkeypatch):
    stage = Stage()
    stage.bind(monkeypatch)
    return stage


def a_task(number, **changes):
    task_id = TaskId(f"019f0000-0000-7000-8000-{number:012d}")
    return an_envelope(**{"id": task_id, "generation": NOW, "created_at_ms": NOW} | changes)


def submit(stage, *tasks):
    for task in tasks:
        stage.log.send_pending([task])
    stage.log.flush()


def failed(answer):
    return [one["itemIdentifier"] for one in answer["batchItemFailures"]]


def test_a_task_of_a_type_that_nobody_takes_is_dead_and_stays_dead(stage):
    submit(stage, a_task(1, type=TaskType("fax")))
    for _ in range(2):
        assert failed(stage.run(dispatcher, topics.PENDING)) == []
    (record,) = stage.hot.records.values()
    assert (record.status, record.ending.reason) == (Status.DEAD, "unknown_type")
    assert {type(fact) for fact in stage.log.facts()} == {TaskDied}
    assert stage.log.records(topics.worker(TaskType("fax"))) == []


def test_without_the_hot_store_only_what_needs_it_comes_again(stage):
    submit(
        stage,
        a_task(1),
        a_task(2, generation=0, deferred=True),
        a_task(3, type=TaskType("fax")),
        a_task(4),
    )
    stage.hot.forget()
    assert failed(stage.run(dispatcher, topics.PENDING)) == [
        {"partition": "tasks.pending-0", "offset": 1},
        {"partition": "tasks.pending-0", "offset": 2},
    ]
    assert [task.id for task in stage.log.tasks(ECHO)] == [a_task(1).id, a_task(4).id]


def test_a_deferred_task_of_a_type_that_nobody_takes_any_more_is_admitted_and_then_dead(stage):
    submit(stage, a_task(1, type=TaskType("fax"), generation=0, deferred=True))
    for _ in range(2):
        assert failed(stage.run(dispatcher, topics.PENDING)) == []
    (record,) = stage.hot.records.values()
    assert (record.status, record.ending.reason) == (Status.DEAD, "unknown_type")
    assert stage.hot.due == {}


def test_without_the_log_the_whole_batch_comes_again(stage):
    submit(stage, a_task(1))
    stage.log.is_away = True
    with pytest.raises(StoreUnavailable):
        stage.run(dispatcher, topics.PENDING)
    stage.log.is_away = False
    assert failed(stage.run(dispatcher, topics.PENDING)) == []
    assert [task.id for task in stage.log.tasks(ECHO)] == [a_task(1).id]


def test_a_deferred_task_is_admitted_and_goes_on_as_any_other(stage):
    submit(stage, a_task(1, generation=0, deferred=True))
    stage.run(dispatcher, topics.PENDING)
    (task,) = stage.log.tasks(ECHO)
    assert (task.generation, task.deferred) == (NOW, False)
    assert stage.hot.due == {}, "what is published is no longer owed"


def test_an_empty_event_is_answered(stage):
    assert dispatcher({"records": {}}, stage.context()) == {"batchItemFailures": []}
