"""Waiting tasks (near, far, changed, expiring) while the processes that handle them die."""

import signal
from datetime import timedelta

import pytest

from taskmill.core.task import Timing
from taskmill.core.time import FAR
from tests.faults.invariants import EARLY_MS
from tests.faults.run import now_ms, starts
from tests.faults.stack import await_death
from tests.faults.test_clocks import moment
from tests.faults.test_clocks import starts as first_starts
from tests.waiting import eventually

TASKS = 40
SECONDS_TO_GET_THERE = 10
"""Until then a scheduler is up, and what it publishes waits for its time."""

_STILL_FAR = "SELECT count(*) FROM far_tasks WHERE task_id = ANY(%s::uuid[])"
_REASONS = "SELECT DISTINCT status, reason FROM tasks WHERE id = ANY(%s::uuid[])"


@pytest.mark.parametrize("point", ["before the due set write", "after the due set write"])
def test_what_comes_near_and_is_called_back_runs_once_whoever_dies(stack, run, scheduler, point):
    """A scheduler dies while it brings them near, and a gateway while it changes them."""
    fields = {"delay_seconds": FAR.total_seconds() + 4}
    with stack.standing_still("Scheduler"):
        run.submit_many([run.request(n, fields=fields) for n in range(TASKS)])
        await_death(scheduler(f"nearing {point}:1"))
    ids = list(run.ids.values())
    eventually(lambda: stack.ask(_STILL_FAR, ids) == [(0,)], within=120, reason="all came near")
    order = stack.arm("Gateway", "gateway after the script of change", 10)
    for task_id in ids:
        run.change(task_id, delay_seconds=0)
    run.await_ends()
    assert not order.exists(), "nobody took the order to crash"
    assert run.complaints(kills=0, in_flight=0) == []
    assert starts(stack, set(run.ids)) == dict.fromkeys(run.ids, 1)


def test_what_expires_while_it_waits_is_dead_soon_though_the_first_to_see_it_dies(
    stack, run, scheduler, figures
):
    """Half of them wait near, half far; a scheduler dies after its script."""
    end_ms = now_ms() + SECONDS_TO_GET_THERE * 1_000
    with stack.standing_still("Scheduler"):
        for at, delay in ((0, timedelta(minutes=1)), (TASKS, 2 * FAR)):
            timing = Timing(delay_ms=delay // timedelta(milliseconds=1), expires_at_ms=end_ms)
            run.owe(range(at, at + TASKS), each=TASKS, timing=timing)
        run.expected_dead = set(run.ids)
        await_death(scheduler("expiring after the script:1"))
    run.await_ends()
    assert run.complaints(kills=0, in_flight=0) == []
    assert stack.ask(_REASONS, list(run.ids.values())) == [("dead", "expired")]
    died_ms = [row.finished_at_ms for row in run.rows()]
    assert min(died_ms) > end_ms
    assert starts(stack, set(run.ids)) == {}
    figures.tell("expiry", f"{len(died_ms)} dead {max(died_ms) - end_ms} ms after it at the latest")


def test_schedulers_that_stand_still_make_nothing_early_twice_or_lost(
    stack, run, scheduler, figures
):
    """One is paused for longer than its hold; meanwhile the other one is, too, for a while."""
    schedulers = {"first": scheduler(), "second": scheduler()}
    first_ms = now_ms() + 3_000
    due = {run.label(n): first_ms + 15 * n for n in range(400)}
    with stack.standing_still("Scheduler"):
        run.submit_many(
            [run.request(n, fields={"run_at": moment(due[run.label(n)])}) for n in range(400)]
        )
        for at_ms, name, number in (
            (500, "first", signal.SIGSTOP),
            (3_000, "second", signal.SIGSTOP),
            (6_000, "first", signal.SIGCONT),
            (7_000, "second", signal.SIGCONT),
        ):
            eventually(lambda at=first_ms + at_ms: now_ms() >= at, within=60, reason="the moment")
            schedulers[name].send_signal(number)
    run.await_ends()
    assert run.complaints(kills=0, in_flight=0) == []
    assert starts(stack, set(run.ids)) == dict.fromkeys(due, 1)
    begun = first_starts(stack, run)
    early = [label for label, at in begun.items() if at < due[label] - EARLY_MS]
    late = sorted(begun[label] - at for label, at in due.items())
    figures.tell(
        "standing still",
        f"400 due over 6 s, nobody works for 3 s of them: late by {late[200]} ms in the middle"
        f" and {late[-1]} ms at most, each ran once",
    )
    assert early == []
