"""A worker that harms its own process affects no other tasks."""

import json
import os
from contextlib import contextmanager, suppress

from msgspec import Raw

from taskmill.core.task import TaskType
from tests.faults.batches import LONG_ENOUGH, admitted, event_of, publish, work
from tests.faults.run import starts
from tests.waiting import eventually


def test_a_task_that_takes_all_memory_is_killed_and_poison_in_the_end(stack, run):
    end = the_end_among_others(run, ill="balloon", timeout_seconds=30)
    assert (end.status, end.reason, end.losses, end.attempt) == ("dead", "poison", 3, 1)
    assert starts(stack, {end.label}) == {end.label: 3}


def test_a_task_that_never_ends_is_cut_off_and_dead_in_the_end(stack, run):
    end = the_end_among_others(run, ill="spin", timeout_seconds=1.5)
    assert (end.status, end.reason, end.losses, end.attempt) == ("dead", "timeout", 0, 2)
    assert starts(stack, {end.label}) == {end.label: 2}


def the_end_among_others(run, *, ill, timeout_seconds):
    """Return how a harmful task ends; those in its batch must be unharmed."""
    retry = {"first_seconds": 0.2, "factor": 1}
    fields = {"max_attempts": 2, "timeout_seconds": timeout_seconds, "retry": retry}
    run.expected_dead.add(run.label(0))
    run.submit([run.request(0, fields=fields, ill=ill), *(run.request(n) for n in range(1, 50))])
    run.await_ends()
    assert run.complaints() == []
    ends = {row.label: row for row in run.rows()}
    end = ends.pop(run.label(0))
    assert {row.status for row in ends.values()} == {"succeeded"}
    return end


def test_a_worker_that_can_write_no_file_does_its_work(stack, run):
    """A full disk, as /tmp is when an earlier invocation has filled it."""
    fields = {"type": TaskType("echo"), "payload": Raw(b'{"say":"hello"}')}
    tasks = admitted(run, 9, fields=fields)
    assert work(stack, tasks, LONG_ENOUGH, A_FULL_DISK=1) == set()
    assert ends(stack, tasks) == {"succeeded"}
    publish(stack, tasks)
    run.await_ends()
    assert run.complaints() == []


def test_a_worker_whose_log_nobody_reads_is_ended_for_its_time_and_repeats_nothing(stack, run):
    """It waits forever with its first line, when all its tasks have their ends."""
    tasks = admitted(run, 9)
    with a_full_pipe() as log:
        process = stack.spawn_worker(LONG_ENOUGH, log=log)
        process.stdin.write(json.dumps(event_of(tasks)))
        process.stdin.close()
        eventually(lambda: ends(stack, tasks) == {"succeeded"}, within=60, reason="all have ended")
        assert process.poll() is None
        process.kill()
        process.wait()
    publish(stack, tasks)
    run.await_ends()
    assert run.complaints() == []


def ends(stack, tasks):
    return {str(record.status) for record in stack.records([task.id for task in tasks])}


@contextmanager
def a_full_pipe():
    """Give the end to write to of a pipe that is full and that nobody reads."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    for size in (4096, 1):
        with suppress(BlockingIOError):
            while os.write(writing, bytes(size)):
                pass
    os.set_blocking(writing, True)
    try:
        yield writing
    finally:
        os.close(writing)
        os.close(reading)
