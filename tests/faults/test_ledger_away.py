"""PostgreSQL restarts or goes away: it costs time, not truth (P17, P19)."""

import signal
import time
from concurrent.futures import ThreadPoolExecutor

from tests.faults.history import Outcome
from tests.faults.run import last_end_ms, now_ms
from tests.waiting import eventually

ENDS = {"fast": signal.SIGINT, "immediate": signal.SIGQUIT, "killed": signal.SIGKILL}
RATE = 50
SECONDS_AWAY = 20
BOUND_SECONDS = 20


def test_a_restart_of_postgresql_costs_time_and_no_truth(stack, run, figures):
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
    history = run.verify(faults_end_ms=back_ms, bound_ms=BOUND_SECONDS * 1000)
    assert refused(history) == 0
    figures.tell(
        "P17", f"1,200 tasks, restarts of {', '.join(downtimes.values())}: 0 submits refused"
    )


def test_tasks_run_without_postgresql_and_the_ledger_catches_up(stack, run, figures):
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
        f"PostgreSQL {away:.0f} s away: {len(run.ids):,} tasks ran, 0 submits refused, "
        f"lists said 503, the ledger had caught up after {caught_up:.1f} s",
    )
    assert refused(history) == 0
    assert last_end_ms(history) <= back_ms
    assert caught_up <= BOUND_SECONDS


def refused(history):
    return sum(submit.outcome is not Outcome.OK for submit in history.submits)


def has_run(stack, run):
    done = {one["label"] for one in stack.left(set(run.ids)) if one["kind"] == "effect"}
    return len(done) == len(run.ids)
