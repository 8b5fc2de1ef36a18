"""What waits for a time, while those die who keep it: near, far, changed, or until it expires."""

from datetime import timedelta

import pytest

from taskmill.adapters.crash import EXIT_CODE
from taskmill.domain.delay import FAR
from taskmill.domain.task import Timing
from tests.faults.run import now_ms, starts
from tests.waiting import eventually

TASKS = 40
_STILL_FAR = "SELECT count(*) FROM far_tasks WHERE task_id = ANY(%s::uuid[])"
_REASONS = "SELECT DISTINCT status, reason FROM tasks WHERE id = ANY(%s::uuid[])"


def await_death(process):
    eventually(lambda: process.poll() is not None, within=60, reason="the scheduler died")
    assert process.returncode == EXIT_CODE


@pytest.mark.parametrize("point", ["before the due set write", "after the due set write"])
def test_what_comes_near_and_is_called_back_runs_once_whoever_dies(stack, run, scheduler, point):
    """A scheduler dies while it brings them near, and a gateway while it changes them."""
    fields = {"delay_seconds": FAR.total_seconds() + 2}
    with stack.standing_still("Scheduler"):
        run.submit_many([run.request(n, fields=fields) for n in range(TASKS)])
        await_death(scheduler(f"nearing {point}:1"))
    ids = list(run.ids.values())
    eventually(lambda: stack.ask(_STILL_FAR, ids) == [(0,)], within=60, reason="all came near")
    order = stack.arm("Gateway", "gateway after the script of change", 10)
    for task_id in ids:
        run.change(task_id, delay_seconds=0)
    run.await_ends()
    assert not order.exists(), "nobody took the order to crash"
    assert run.complaints() == []
    assert starts(stack, set(run.ids)) == dict.fromkeys(run.ids, 1)


def test_what_expires_while_it_waits_is_dead_soon_though_the_first_to_see_it_dies(
    stack, run, scheduler, figures
):
    """Half of it waits near, half of it far; a scheduler dies behind its script."""
    end_ms = now_ms() + 3_000
    with stack.standing_still("Scheduler"):
        for at, delay in ((0, timedelta(minutes=1)), (TASKS, 2 * FAR)):
            timing = Timing(delay_ms=delay // timedelta(milliseconds=1), expires_at_ms=end_ms)
            run.owe(range(at, at + TASKS), each=TASKS, timing=timing)
        run.expected_dead = set(run.ids)
        await_death(scheduler("expiring after the script:1"))
    run.await_ends()
    assert run.complaints() == []
    assert stack.ask(_REASONS, list(run.ids.values())) == [("dead", "expired")]
    died_ms = [row.finished_at_ms for row in run.rows()]
    assert min(died_ms) > end_ms
    assert starts(stack, set(run.ids)) == {}
    figures.tell("expiry", f"{len(died_ms)} dead {max(died_ms) - end_ms} ms after it at the latest")
