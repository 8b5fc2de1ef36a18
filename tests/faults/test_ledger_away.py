"""PostgreSQL restarts or is unavailable: work is delayed, but never wrong (P17, P19)."""

import signal
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.faults.measured import exceeding
from tests.faults.run import Run, last_end_ms, now_ms
from tests.waiting import eventually

ENDS = {"fast": signal.SIGINT, "immediate": signal.SIGQUIT, "killed": signal.SIGKILL}
RATE = 50
SECONDS_AWAY = 20
BOUND_SECONDS = 20


@pytest.mark.usefixtures("run")
def test_a_restart_of_postgresql_costs_time_and_no_truth(stack, figures):
    assert exceeding(lambda: three_restarts(stack, figures)) == []


def three_restarts(stack, figures):
    """Return how many submits were refused, and how many may be."""
    run = Run(stack)
    requests = [run.request(n) for n in range(1_200)]
    downtimes = {}
    with ThreadPoolExecutor(1) as others:
        load = others.submit(run.submit_many, requests, batch=5, callers=2, seconds=14)
        for how, number in ENDS.items():
            taken = len(run.ids) + 200
            eventually(lambda: len(run.ids) >= taken, within=60, reason="load goes on")  # noqa: B023 - it is asked at once
            began = time.monotonic()
            stack.ground.end("PostgreSQL", number)
            stack.ground.revive("PostgreSQL")
            downtimes[how] = f"{time.monotonic() - began:.1f} s {how}"
        load.result()
    back_ms = now_ms()
    run.await_ends()
    run.verify(faults_end_ms=back_ms, bound_ms=BOUND_SECONDS * 1000)
    answer = f"1,200 tasks, restarts of {', '.join(downtimes.values())}"
    figures.tell("P17", f"{answer}: {run.refused()} submits refused")
    return run.refused(), 0


@pytest.mark.usefixtures("run")
def test_tasks_run_without_postgresql_and_the_ledger_catches_up(stack, figures):
    assert exceeding(lambda: an_absence(stack, figures)) == []


def an_absence(stack, figures):
    """Return how many submits were refused, and how many may be."""
    run = Run(stack)
    stack.ground.end("PostgreSQL", signal.SIGINT)
    try:
        began = time.monotonic()
        requests = [run.request(n) for n in range(RATE * SECONDS_AWAY)]
        run.submit_many(requests, batch=5, seconds=SECONDS_AWAY)
        assert stack.client.get("/v1/tasks").status == 503
        eventually(lambda: has_run(stack, run), within=30, reason="all ran meanwhile")
        away = time.monotonic() - began
    finally:
        stack.ground.revive("PostgreSQL")
    back_ms = now_ms()
    run.await_ends()
    caught_up = (now_ms() - back_ms) / 1000
    history = run.verify()
    figures.tell(
        "P19",
        f"PostgreSQL {away:.0f} s away: {len(run.ids):,} tasks ran, {run.refused()} submits "
        f"refused, lists said 503, the ledger had caught up after {caught_up:.1f} s",
    )
    assert last_end_ms(history) <= back_ms
    assert caught_up <= BOUND_SECONDS
    return run.refused(), 0


def has_run(stack, run):
    done = {one["label"] for one in stack.left(set(run.ids)) if one["kind"] == "effect"}
    return len(done) == len(run.ids)
