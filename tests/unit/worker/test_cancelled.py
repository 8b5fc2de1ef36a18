"""A cancelled task ends where its handler checks, or with its process."""

import asyncio
from datetime import timedelta

import pytest

from taskmill.core.facts import TaskCancelled
from taskmill.execution.context import Running, Task
from taskmill.execution.outcome import Cancelled, GivenBack, Succeeded
from taskmill.lanes.lane import Leave, member_of
from taskmill.stores.memory.blobs import MemoryBlobs
from taskmill.worker import serve
from tests.builders import an_attempt
from tests.unit.world import HangingExecutor, World


def a_running(**changes):
    attempt = an_attempt()
    leave = Leave(member_of(attempt.envelope), "1")
    values = {"attempt": attempt, "leave": leave, "unreported": (), "source": ""}
    spans = {"timeout": timedelta(seconds=1), "deadline_ms": 0, "ahead_ms": 0, "answered_at_ms": 0}
    return Running(**values | spans | changes)


def checks(_payload, task):
    task.check()
    return "done"


async def checks_later(payload, task):
    return checks(payload, task)


@pytest.mark.parametrize(
    ("changes", "end"),
    [
        ({}, Succeeded("done")),
        ({"cancel_requested": True}, Cancelled()),
        ({"is_lost": True}, GivenBack()),
        ({"is_lost": True, "cancel_requested": True}, Cancelled()),
    ],
    ids=str,
)
def test_a_check_ends_the_attempt_as_what_it_is(changes, end):
    task = Task(a_running(**changes))
    assert serve(dict, checks).run(task, MemoryBlobs) == end


def test_an_async_check_does_so_too():
    task = Task(a_running(cancel_requested=True))
    assert asyncio.run(serve(dict, checks_later).run_async(task, MemoryBlobs)) == Cancelled()


def test_a_process_that_ends_on_cancel_does_not_wait_and_begins_nothing_more():
    world = World()
    first, second = world.admitted(None, None, timeout_seconds=60.0)
    began = world.now
    world.on_wait.append(lambda: setattr(world.hot.records[first.id], "cancel_requested", True))
    world.work(executor=HangingExecutor(world), concurrency=1, cuts_off_cancelled=True)
    assert [type(fact) for fact in world.log.facts()][-1] is TaskCancelled
    assert world.now - began < 5_000
    assert second in world.waiting()
    world.work()
    assert world.performed == [second.id]


def test_only_a_worker_with_one_task_at_a_time_may_end_its_process():
    assert serve(dict, checks, concurrency=1, end_process_on_cancel=True).end_process_on_cancel
    with pytest.raises(ValueError, match="set concurrency=1, not 10"):
        serve(dict, checks, end_process_on_cancel=True)
