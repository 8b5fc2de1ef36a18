"""Processes crash between any two store calls: nothing is lost or misreported."""

import signal
from collections import Counter
from itertools import count

import pytest

from taskmill.core.task import Status
from taskmill.recovery.divergence import Divergence
from taskmill.settings.crash_points import POINTS
from tests.faults.stack import WORKER, await_death
from tests.waiting import eventually

TASKS = 200
NTH = (1, 10)
FEW_ROWS = {"ROWS_AT_A_TIME": TASKS // 20}
"""What lets a scheduler of the test's own take more than ten parts of them."""

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


@pytest.mark.parametrize("nth", NTH)
@pytest.mark.parametrize("point", [one for one in BUSY if one.split()[0] != "scheduler"])
def test_a_death_at_this_line_loses_nothing(stack, run, point, nth):
    order = stack.arm(FUNCTIONS[point.split()[0]], point, nth)
    fields = {"delay_seconds": 1} if "due set" in point else {}
    run.submit_many([run.request(n, fields=fields) for n in range(TASKS)], batch=5, callers=2)
    run.await_ends()
    assert not order.exists(), "nobody took the order to crash"
    assert run.complaints() == []


@pytest.mark.parametrize("nth", NTH)
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


@pytest.mark.parametrize("point", [one for one in POINTS if one.split()[0] == "scheduler"])
def test_schedulers_that_die_at_this_line_lose_nothing(stack, run, point, scheduler):
    """One of two dies the first time, the other the tenth: two tasks are due at each look."""
    numbers = count()
    with stack.standing_still("Scheduler"):
        doomed = [scheduler(f"{point}:{nth}") for nth in NTH]

        def have_died():
            run.owe([next(numbers), next(numbers)], each=2)
            return all(process.poll() is not None for process in doomed)

        eventually(have_died, within=60, reason="the schedulers died")
        await_deaths(doomed)
    run.owe(range(next(numbers), TASKS), each=2)
    run.await_ends()
    assert run.complaints() == []


def await_deaths(doomed):
    for process in doomed:
        await_death(process)


def test_relays_that_die_before_the_mark_publish_again(stack, run, scheduler):
    """One of two dies the first time, the other the tenth."""
    with stack.standing_still("Scheduler"):
        stack.ground.end("Kafka", signal.SIGKILL)
        run.submit_many([run.request(n) for n in range(TASKS)])
        stack.ground.revive("Kafka")
        point = "relay after publish before mark"
        await_deaths([scheduler(f"{point}:{nth}", **FEW_ROWS) for nth in NTH])
    run.await_ends()
    assert run.complaints() == []


@pytest.mark.parametrize("verb", ["redrive", "cancel"])
def test_a_gateway_that_dies_behind_its_script_is_asked_again(stack, run, verb):
    """What is dead is redriven; what waits for its next attempt is cancelled."""
    is_cancel = verb == "cancel"
    fields = {"retry": {"first_seconds": 120}} if is_cancel else {"max_attempts": 1}
    run.submit_many([run.request(n, fields=fields, ill="raise", ill_runs=1) for n in range(TASKS)])
    await_all(run, "retrying" if is_cancel else "dead")
    ids = list(run.ids.values())
    for nth, half in zip(NTH, (ids[: TASKS // 2], ids[TASKS // 2 :]), strict=True):
        order = stack.arm("Gateway", f"gateway after the script of {verb}", nth)
        for task_id in half:
            run.order(verb, task_id)
        assert not order.exists(), "nobody took the order to crash"
    run.await_ends()
    await_all(run, "cancelled" if is_cancel else "succeeded")
    assert run.complaints() == []


def await_all(run, status):
    eventually(
        lambda: Counter(row.status for row in run.rows()) == {status: TASKS},
        within=60,
        reason=f"all are {status}",
    )


def test_reconcilers_that_die_behind_their_select_leave_it_to_another(stack, run, scheduler):
    """Records say that tasks run which are over, and the ledger that others are not.

    One of two dies the first time, the other the tenth.
    """
    run.submit_many([run.request(n) for n in range(TASKS)])
    run.await_ends()
    stack.come_to_rest()
    ids = list(run.ids.values())
    with stack.standing_still("Scheduler"):
        stack.ask(_SET_APART, ids)
        stack.rewrite_records(ids[:PLANTED], status="running")
        stack.ask(_FORGET_THE_END, ids[-PLANTED:])
        await_deaths([scheduler(f"reconciler after select:{nth}", **FEW_ROWS) for nth in NTH])
    mended = stack.reconcile(2 * PLANTED)
    assert mended == {Divergence.RECORD_BEHIND: PLANTED, Divergence.LEDGER_BEHIND: PLANTED}
    run.await_ends()
    assert {view.status for view in stack.records(ids)} == {Status.SUCCEEDED}
    assert run.complaints() == []
