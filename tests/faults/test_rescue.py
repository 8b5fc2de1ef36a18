"""Redis stands still, or no scheduler is there: what runs is not lost, what waits runs on."""

import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psutil
import pytest

from tests.faults.lanes import await_empty, await_no_scheduler
from tests.faults.run import now_ms, starts
from tests.faults.scale import scaled
from tests.faults.stack import LEASE_SECONDS, PLACES, WORKER
from tests.waiting import eventually

STALL_SECONDS = 1.5 * LEASE_SECONDS
"""Eight seconds beside the usual lease are a third more than it; here it is half more."""

RUNS_FOR = 2.5 * LEASE_SECONDS
TASKS = 60
WAITING = 200
AWAY_SECONDS = scaled(15, 60)
LONG_SECONDS = 3
BACK_WITHIN_MS = 15_000
"""A worker watches two seconds later than a scheduler, and closes no lease at first."""

ALONE_WITHIN_MS = 12_000
"""A lease, and for each of these two or three seconds: to notice, to spare who lives, to look."""

PER_SECOND = 10
"""So many tasks come meanwhile, and wake a worker, which watches."""


@contextmanager
def network(stack):
    """Let the network to Redis stand still."""
    weather = stack.ground.proxies["Valkey"].weather
    weather.is_black_hole = True
    try:
        yield
    finally:
        weather.is_black_hole = False


@contextmanager
def redis(stack):
    """Let Redis itself stand still."""
    folder = stack.ground.servers["Valkey"].folder
    server = psutil.Process(int(folder.with_name("valkey.pid").read_text().split()[0]))
    server.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        server.send_signal(signal.SIGCONT)


@pytest.mark.parametrize("stalled", [network, redis], ids=lambda it: it.__name__)
def test_a_redis_that_stands_still_for_longer_than_a_lease_costs_no_run(
    stack, run, figures, stalled
):
    run.submit_many([run.request(n, sleep_seconds=RUNS_FOR) for n in range(TASKS)])
    eventually(lambda: len(starts(stack, set(run.ids))) == TASKS, within=60, reason="all run")
    with stalled(stack):
        time.sleep(STALL_SECONDS)  # the very fault
    run.submit([run.request(TASKS + n) for n in range(PLACES)])
    run.await_ends()
    history = run.verify(kills=0, in_flight=1)
    again = [label for label, times in starts(stack, set(run.ids)).items() if times > 1]
    losses = sum(row.losses for row in history.rows)
    figures.tell(
        "standing still",
        f"{stalled.__doc__} {TASKS} tasks run, {STALL_SECONDS:g} s with a lease of"
        f" {LEASE_SECONDS:g} s: {losses} losses, {len(again)} second runs",
    )
    assert (losses, again) == (0, [])
    await_empty(stack)


def test_without_a_scheduler_what_waits_runs_and_a_killed_workers_tasks_come_back(
    stack, run, figures
):
    """Workers watch their lane while nobody else does."""
    began = time.monotonic()
    with stack.standing_still("Scheduler"):
        numbers = iter(range(10**6))
        run.submit_many([run.request(next(numbers), sleep_seconds=0.2) for _ in range(WAITING)])
        run.await_ends(within=60)
        long = [run.request(next(numbers), sleep_seconds=LONG_SECONDS) for _ in range(PLACES)]
        labels = {one["idempotency_key"] for one in long}
        run.submit(long)
        eventually(lambda: len(starts(stack, labels)) == PLACES, within=60, reason="they run")
        killed_ms = now_ms()
        stack.signal(signal.SIGKILL, WORKER)
        with ThreadPoolExecutor(1) as others:
            trickle = [run.request(next(numbers)) for _ in range(AWAY_SECONDS * PER_SECOND)]
            load = others.submit(run.submit_many, trickle, batch=5, seconds=AWAY_SECONDS)
            eventually(lambda: len(begun_again(stack, labels)) == PLACES, within=60, reason="again")
            back_ms = max(begun_again(stack, labels).values()) - killed_ms
            load.result()
        run.await_ends(within=60)
    history = run.verify(kills=2, in_flight=PLACES)
    figures.tell(
        "rescue",
        f"no scheduler for {time.monotonic() - began:.0f} s: {len(history.rows)} tasks ended, those"
        f" of a killed worker ran again {back_ms / 1000:.1f} s after it",
    )
    assert back_ms <= BACK_WITHIN_MS
    await_empty(stack)


def test_with_no_scheduler_and_no_new_task_a_killed_workers_tasks_come_back(stack, run, figures):
    """Nothing wakes a worker but the wake-ups of the killed ones, which are delivered again."""
    with stack.standing_still("Scheduler"):
        await_no_scheduler(stack)  # before, a worker would leave the killed tasks to it
        run.submit([run.request(n, sleep_seconds=LONG_SECONDS) for n in range(PLACES)])
        labels = set(run.ids)
        eventually(lambda: len(starts(stack, labels)) == PLACES, within=60, reason="they run")
        killed_ms = now_ms()
        killed = stack.signal(signal.SIGKILL, WORKER)
        eventually(lambda: len(begun_again(stack, labels)) == PLACES, within=60, reason="again")
        back_ms = max(begun_again(stack, labels).values()) - killed_ms
        run.await_ends(within=60)
    run.verify(kills=killed, in_flight=PLACES)
    figures.tell(
        "rescue",
        f"no scheduler, no new task: {PLACES} tasks of {killed} killed workers ran again"
        f" {back_ms / 1000:.1f} s after it, with a lease of {LEASE_SECONDS:g} s",
    )
    assert back_ms <= ALONE_WITHIN_MS
    await_empty(stack)


def begun_again(stack, labels):
    """Return when each of these tasks began last, if it began more than once."""
    times = starts(stack, labels)
    lines = [line for line in stack.left(labels) if line["kind"] == "start"]
    return {line["label"]: line["at_ms"] for line in lines if times[line["label"]] > 1}
