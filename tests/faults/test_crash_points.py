"""Whoever dies on whatever line between two stores: nothing is lost, and nothing lies."""

import signal
from contextlib import contextmanager
from datetime import timedelta

import pytest

from taskmill.adapters.crash import EXIT_CODE, POINTS
from taskmill.domain.reconciliation import Divergence
from taskmill.domain.task import Status
from tests.faults.callers import are_some_waiting, book, connect, open_the_shop, place_order
from tests.faults.stack import WORKER
from tests.waiting import eventually

TASKS = 200
PARTS = 10
PLANTED = 10
FUNCTIONS = {
    "gateway": "Gateway",
    "dispatcher": "Dispatcher",
    "worker": WORKER,
    "recorder": "Recorder",
    "scheduler": "Scheduler",
}
_SET_APART = """
INSERT INTO unfinished (task_id)
SELECT id FROM tasks WHERE id = ANY(%s::uuid[])
ON CONFLICT DO NOTHING RETURNING task_id
"""
"""Let the reconciler look at them, though they are young."""

_FORGET_THE_END = """
UPDATE tasks
SET status = 'queued', rank = 0, token = 0, finished_at = NULL, result = NULL, started_at = NULL
WHERE id = ANY(%s::uuid[])
RETURNING id
"""

BUSY = [one for one in POINTS if one.split()[0] in FUNCTIONS and "script" not in one]


@pytest.mark.parametrize("nth", [1, 10])
@pytest.mark.parametrize("point", [one for one in BUSY if one.split()[0] != "scheduler"])
def test_a_death_at_this_line_loses_nothing(stack, run, point, nth):
    order = stack.arm(FUNCTIONS[point.split()[0]], point, nth)
    fields = {"delay_seconds": 1} if "due set" in point else {}
    run.submit_many([run.request(n, fields=fields) for n in range(TASKS)], batch=5, callers=2)
    run.await_ends()
    assert not order.exists(), "nobody took the order to crash"
    assert run.complaints() == []


@pytest.mark.parametrize("nth", [1, 10])
@pytest.mark.parametrize("point", [one for one in POINTS if one.split()[0] == "inbox"])
def test_an_inbox_that_dies_at_this_line_takes_each_request_once(stack, run, point, nth):
    """A second task of a request without a key would be a second row."""
    requests = [run.request(n) for n in range(TASKS)]
    for one in requests[::2]:
        del one["idempotency_key"]
    order = stack.arm("Inbox", point, nth)
    run.leave_in_inbox(requests, apart=nth > 1)
    run.await_rows(TASKS)
    run.await_ends()
    stack.come_to_rest()
    assert not order.exists(), "nobody took the order to crash"
    assert len(run.rows()) == len({row.label for row in run.rows()}) == TASKS
    assert run.complaints() == []


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
@pytest.mark.parametrize("point", [one for one in POINTS if one.split()[0] == "scheduler"])
def test_a_scheduler_that_dies_at_this_line_loses_nothing(stack, run, point, nth, scheduler):
    process = scheduler(f"{point}:{nth}")
    run.owe(range(TASKS), each=2, first=timedelta(seconds=2))
    eventually(lambda: process.poll() is not None, within=30, reason="the scheduler died")
    assert process.returncode == EXIT_CODE
    run.await_ends()
    assert run.complaints() == []


@contextmanager
def a_doomed_scheduler(stack, scheduler, order):
    """Let the platform's scheduler stand still until one of the test's own has died."""
    with stack.standing_still("Scheduler"):
        yield
        process = scheduler(order)
        eventually(lambda: process.poll() is not None, within=60, reason="the scheduler died")
        assert process.returncode == EXIT_CODE


def test_a_rebuild_that_dies_before_the_marker_is_followed_by_another(stack, run, scheduler):
    requests = [run.request(n) for n in range(TASKS)]
    run.submit_many(requests[: TASKS // 2])
    run.await_ends()
    with a_doomed_scheduler(stack, scheduler, "rebuild before the marker:1"):
        stack.forget_redis()
        run.submit_many(requests[TASKS // 2 :])
    stack.await_rebuild()
    run.await_ends()
    assert run.complaints() == []


def test_a_relay_that_dies_before_the_mark_publishes_again(stack, run, scheduler):
    with a_doomed_scheduler(stack, scheduler, "relay after publish before mark:1"):
        stack.ground.end("Kafka", signal.SIGKILL)
        run.submit_many([run.request(n) for n in range(TASKS)])
        stack.ground.revive("Kafka")
    run.await_ends()
    assert run.complaints() == []


@pytest.mark.parametrize("nth", [1, 10])
@pytest.mark.parametrize("point", [one for one in POINTS if one.split()[0] == "enqueued"])
def test_who_dies_while_taking_what_was_committed_is_followed_by_another(
    stack, run, scheduler, point, nth
):
    """What it took before was committed in ten parts, one after the other."""
    open_the_shop(stack)
    with stack.standing_still("Scheduler"), connect(stack) as connection:
        process = scheduler(f"{point}:{nth}")
        for part in range(PARTS):
            for number in range(part * TASKS // PARTS, (part + 1) * TASKS // PARTS):
                place_order(connection, run, number, is_keyed=number % 2 == 0)
            connection.commit()
            eventually(
                lambda: process.poll() is not None or not are_some_waiting(run),
                within=60,
                reason="they were taken, or who takes them died",
            )
        assert process.returncode == EXIT_CODE
    assert len(book(run)) == TASKS
    run.await_ends()
    assert run.complaints() == []


@pytest.mark.parametrize("verb", ["redrive", "cancel"])
def test_a_gateway_that_dies_behind_its_script_is_asked_again(stack, run, verb):
    """What is dead is redriven; what waits for its next attempt is cancelled."""
    is_cancel = verb == "cancel"
    fields = {"retry": {"first_seconds": 60}} if is_cancel else {"max_attempts": 1}
    run.submit_many([run.request(n, fields=fields, ill="raise", ill_runs=1) for n in range(20)])
    waits_for = "retrying" if is_cancel else "dead"
    eventually(
        lambda: {row.status for row in run.rows()} == {waits_for}, within=60, reason=waits_for
    )
    order = stack.arm("Gateway", f"gateway after the script of {verb}", 1)
    for task_id in run.ids.values():
        run.order(verb, task_id)
    assert not order.exists(), "nobody took the order to crash"
    run.await_ends()
    wanted = "cancelled" if is_cancel else "succeeded"
    eventually(lambda: {row.status for row in run.rows()} == {wanted}, within=60, reason=wanted)
    assert run.complaints() == []


def test_a_reconciler_that_dies_behind_its_select_leaves_it_to_another(stack, run, scheduler):
    """Records say that tasks run which are over, and the ledger that others are not."""
    run.submit_many([run.request(n) for n in range(TASKS)])
    run.await_ends()
    stack.come_to_rest()
    ids = list(run.ids.values())
    with a_doomed_scheduler(stack, scheduler, "reconciler after select:1"):
        stack.ask(_SET_APART, ids)
        stack.rewrite_records(ids[:PLANTED], status="running")
        stack.ask(_FORGET_THE_END, ids[-PLANTED:])
    mended = stack.reconcile(2 * PLANTED)
    assert mended == {Divergence.RECORD_BEHIND: PLANTED, Divergence.LEDGER_BEHIND: PLANTED}
    run.await_ends()
    assert {view.status for view in stack.records(ids)} == {Status.SUCCEEDED}
    assert run.complaints() == []
