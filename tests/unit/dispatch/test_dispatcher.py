"""The dispatcher routes tasks, and retries those that cannot be decided now."""

from datetime import timedelta
from types import SimpleNamespace

import pytest

from functions.dispatcher.handler import lambda_handler as dispatcher
from taskmill.core import codec, topics
from taskmill.core.errors import StoreUnavailable
from taskmill.core.facts import TaskDied
from taskmill.core.task import Status, TaskId, TaskType
from taskmill.dispatch.waiting import PATIENCE_WITH_A_TYPE, REQUEUE_AFTER
from tests.builders import an_envelope
from tests.unit.stage import NOW, Stage, do_job

FAX = TaskType("fax")
EMAIL = TaskType("email")


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
        self._entry = SimpleNamespace(name=name, partitions=1)

    def entry(self, name):
        return self._entry if name == self._entry.name else None

    def entries(self):
        return [self._entry]


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
    assert stage.waiting(FAX) == []
    assert stage.hot.due == {}


def test_a_task_whose_worker_is_deployed_late_goes_in_line_for_it(stage):
    submit(stage, a_task(1, type=FAX))
    stage.run(dispatcher, topics.PENDING)
    deploy(stage, FAX)
    wait_until_it_is_put_in_line_again(stage)
    stage.run(dispatcher, topics.PENDING)
    assert [task.id for task in stage.waiting(FAX)] == [a_task(1).id]
    assert stage.log.facts() == []


def test_what_only_a_newer_version_knows_enters_the_lane_with_it(stage):
    newer = b',"only_newer":{"x": 1.10}}'
    ours = [a_task(1), a_task(2, generation=0, deferred=True)]
    for task in ours:
        stage.log.send_pending([codec.as_raw(codec.encode(task)[:-1] + newer)])
    stage.log.flush()
    stage.run(dispatcher, topics.PENDING)
    assert [newer in one.raw for one in stage.hot.lanes["echo"].tasks.values()] == [True, True]


def test_without_the_shards_only_what_needs_them_comes_again(stage):
    submit(
        stage,
        a_task(1),
        a_task(2, generation=0, deferred=True),
        a_task(3, type=FAX),
        a_task(4),
    )
    stage.hot.forget_shards()
    assert failed(stage.run(dispatcher, topics.PENDING)) == [
        {"partition": "tasks.pending-0", "offset": 1},
        {"partition": "tasks.pending-0", "offset": 2},
    ]
    assert [task.id for task in stage.waiting()] == [a_task(1).id, a_task(4).id]


def test_without_its_lane_a_task_comes_again_and_those_of_others_go_on(stage):
    submit(stage, a_task(1), a_task(2, type=EMAIL), a_task(3, type=FAX))
    stage.hot.lanes["echo"].forget()
    assert failed(stage.run(dispatcher, topics.PENDING)) == [
        {"partition": "tasks.pending-0", "offset": 0},
    ]
    assert [task.id for task in stage.waiting(EMAIL)] == [a_task(2).id]
    stage.hot.lanes["echo"].open()
    assert failed(stage.run(dispatcher, topics.PENDING)) == []
    assert [task.id for task in stage.waiting()] == [a_task(1).id]
    assert len(stage.waiting(EMAIL)) == 1, "it was in its lane before"


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
    assert [task.id for task in stage.waiting()] == [a_task(1).id]


def test_a_deferred_task_is_admitted_and_goes_on_as_any_other(stage):
    submit(stage, a_task(1, generation=0, deferred=True))
    stage.run(dispatcher, topics.PENDING)
    (task,) = stage.waiting()
    assert (task.generation, task.deferred) == (NOW, False)
    assert stage.hot.due == {}, "what is published is no longer owed"


def test_an_empty_event_is_answered(stage):
    assert dispatcher({"records": {}}, stage.context()) == {"batchItemFailures": []}
