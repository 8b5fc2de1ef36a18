"""The dispatcher routes tasks, and retries those that cannot be decided now."""

from datetime import timedelta

import pytest

from functions.dispatcher.handler import lambda_handler as dispatcher
from taskmill.core import codec, topics
from taskmill.core.errors import StoreUnavailable
from taskmill.core.facts import TaskDied
from taskmill.core.task import Status, TaskId, TaskType
from taskmill.dispatch.waiting import PATIENCE_WITH_A_TYPE, REQUEUE_AFTER
from tests.builders import an_envelope
from tests.unit.stage import NOW, Stage, do_job

ECHO = topics.worker(TaskType("echo"))
FAX = TaskType("fax")


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


def wait_until_it_is_put_in_line_again(stage):
    """Including earlier records: the log delivers everything again each time."""
    stage.wait(REQUEUE_AFTER)
    published = do_job("publish_due")
    assert published <= 1, "copies that wait together are one"


def deploy(stage, name):
    """Deploy a worker for a type, as a rolling deployment does."""
    stage.ports.catalogue = Knows(name)


class Knows:
    def __init__(self, name):
        self._name = name

    def entry(self, name):
        return name if name == self._name else None


def test_a_task_of_a_type_that_nobody_takes_waits_and_is_then_dead_and_stays_dead(stage):
    submit(stage, a_task(1, type=FAX))
    begun = stage.clock()
    while not stage.log.facts():
        assert failed(stage.run(dispatcher, topics.PENDING)) == []
        wait_until_it_is_put_in_line_again(stage)
    waited = timedelta(milliseconds=stage.clock() - begun)
    assert PATIENCE_WITH_A_TYPE <= waited <= PATIENCE_WITH_A_TYPE + 3 * REQUEUE_AFTER
    stage.run(dispatcher, topics.PENDING)
    (record,) = stage.hot.records.values()
    assert (record.status, record.ending.reason) == (Status.DEAD, "unknown_type")
    assert {type(fact) for fact in stage.log.facts()} == {TaskDied}
    assert stage.log.records(topics.worker(FAX)) == []
    assert stage.hot.due == {}


def test_a_task_whose_worker_is_deployed_late_goes_in_line_for_it(stage):
    submit(stage, a_task(1, type=FAX))
    stage.run(dispatcher, topics.PENDING)
    deploy(stage, FAX)
    wait_until_it_is_put_in_line_again(stage)
    stage.run(dispatcher, topics.PENDING)
    waited, *_ = stage.log.tasks(topics.worker(FAX))
    assert waited.id == a_task(1).id
    assert stage.log.facts() == []


def test_what_only_a_newer_version_knows_goes_on_to_the_worker(stage):
    newer = b',"only_newer":{"x": 1.10}}'
    ours = [a_task(1), a_task(2, generation=0, deferred=True)]
    for task in ours:
        stage.log.send_pending([codec.as_raw(codec.encode(task)[:-1] + newer)])
    stage.log.flush()
    stage.run(dispatcher, topics.PENDING)
    assert [newer in one.value for one in stage.log.records(ECHO)] == [True]
    assert stage.log.records(ECHO)[0].value.count(newer[:-1]) == 2


def test_without_the_hot_store_only_what_needs_it_comes_again(stage):
    submit(
        stage,
        a_task(1),
        a_task(2, generation=0, deferred=True),
        a_task(3, type=FAX),
        a_task(4),
    )
    stage.hot.forget()
    assert failed(stage.run(dispatcher, topics.PENDING)) == [
        {"partition": "tasks.pending-0", "offset": 1},
        {"partition": "tasks.pending-0", "offset": 2},
    ]
    assert [task.id for task in stage.log.tasks(ECHO)] == [a_task(1).id, a_task(4).id]


def test_a_deferred_task_of_a_type_that_nobody_takes_any_more_is_admitted_and_then_dead(stage):
    submit(stage, a_task(1, type=FAX, generation=0, deferred=True))
    while not any(isinstance(fact, TaskDied) for fact in stage.log.facts()):
        assert failed(stage.run(dispatcher, topics.PENDING)) == []
        wait_until_it_is_put_in_line_again(stage)
    stage.run(dispatcher, topics.PENDING)
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
