"""Whoever dies on whatever line between two stores: nothing is lost, and nothing lies."""

from datetime import timedelta

import pytest

from taskmill.adapters.crash import POINTS
from tests.faults.stack import WORKER
from tests.waiting import eventually

TASKS = 200
FUNCTIONS = {
    "gateway": "Gateway",
    "dispatcher": "Dispatcher",
    "worker": WORKER,
    "recorder": "Recorder",
    "scheduler": "Scheduler",
}


@pytest.mark.parametrize("nth", [1, 10])
@pytest.mark.parametrize("point", [one for one in POINTS if not one.startswith("scheduler")])
def test_a_death_at_this_line_loses_nothing(stack, run, point, nth):
    order = stack.arm(FUNCTIONS[point.split()[0]], point, nth)
    run.submit_many([run.request(n) for n in range(TASKS)], batch=5, callers=2)
    run.await_ends()
    assert not order.exists(), "nobody took the order to crash"
    run.verify()


def test_a_handler_that_dies_with_its_process_runs_again(stack, run, figures):
    """The point in the middle of a handler is the handler's own."""
    requests = [run.request(n) for n in range(TASKS - 2)]
    requests += [run.request(n, ill="exit", ill_runs=1) for n in (TASKS - 2, TASKS - 1)]
    run.submit_many(requests)
    run.await_ends()
    history = run.verify()
    losses = sum(row.losses for row in history.rows)
    figures.tell("crash points", f"two deaths in a handler were {losses} losses")
    assert losses >= 2


@pytest.mark.parametrize("nth", [1, 10])
@pytest.mark.parametrize("point", [one for one in POINTS if one.startswith("scheduler")])
def test_a_scheduler_that_dies_at_this_line_loses_nothing(stack, run, point, nth, scheduler):
    process = scheduler(f"{point}:{nth}")
    run.owe(range(TASKS), each=2, first=timedelta(seconds=2))
    eventually(lambda: process.poll() is not None, within=30, reason="the scheduler died")
    assert process.returncode == 137
    run.await_ends()
    run.verify()
