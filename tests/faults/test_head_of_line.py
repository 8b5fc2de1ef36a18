"""A slow task holds its own place and delays nobody."""

import os
import signal
from contextlib import suppress

import pytest

from tests.faults.lanes import await_empty
from tests.faults.measured import exceeding
from tests.faults.nemesis import Nemesis
from tests.faults.run import Run, a_seed
from tests.faults.scale import scaled
from tests.faults.stack import ONE_PARTITION, PLACES
from tests.waiting import eventually

SLEEPERS, QUICK = 4, 20
SLEEP_SECONDS = scaled(6, 20)
P99_MS = 250
SLACK = 3
"""A machine that runs other tests beside this one may take longer by this factor."""

SECONDS = scaled(20, 300)
PER_SECOND = 50
ONE_SLEEPS_OF = 100
QUICK_SECONDS = 0.002
BETWEEN_KILLS = scaled((6, 7), (60, 60))
MOST_KILLS = scaled(2, 5)
PROMISE = "head of line"


def test_sleepers_hold_up_no_quick_task(stack, run, figures):
    run.patience = 60

    def waits():
        late = behind_sleepers(stack)
        figures.tell(PROMISE, f"{QUICK} quick tasks after {SLEEPERS} of {SLEEP_SECONDS} s: {late}")
        return late.p99, P99_MS * SLACK

    assert exceeding(waits) == []


def behind_sleepers(stack):
    """Return how long quick tasks wait while sleepers run on both processes."""
    run = Run(stack)
    run.submit(run.request(n, sleep_seconds=SLEEP_SECONDS) for n in range(SLEEPERS))
    eventually(lambda: len(begun(stack, run)) == SLEEPERS, within=30, reason="the sleepers run")
    quick = [run.request(SLEEPERS + n) for n in range(QUICK)]
    run.submit_many(quick, batch=1, callers=2)
    run.await_ends()
    run.verify(kills=0, in_flight=PLACES)
    return Waits(stack, run, labels_of(quick))


@pytest.mark.parametrize("kind", ["probe", ONE_PARTITION])
@pytest.mark.usefixtures("run")
def test_one_slow_task_in_a_hundred_holds_up_no_quick_one(stack, figures, kind):
    processes = "one process" if kind == ONE_PARTITION else "two processes"

    def waits():
        late = in_a_mix(stack, kind)
        figures.tell(PROMISE, f"{_mix()} on {processes}: {late}")
        return late.p99, P99_MS * SLACK

    assert exceeding(waits) == []


@pytest.mark.usefixtures("run")
def test_what_the_death_of_a_slow_tasks_process_costs_the_quick_ones(stack, figures):
    """It is told, not promised: who ran beside it comes back when its lease has lapsed."""
    run = Run(stack)
    slow = {run.label(n) for n in range(0, SECONDS * PER_SECOND, ONE_SLEEPS_OF)}

    def strike(_chance):
        if len(nemesis.strikes) >= MOST_KILLS or not (pid := a_process_of(stack, slow)):
            return None
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        return f"killed {pid}"

    nemesis = Nemesis([strike], seed=a_seed(), between=BETWEEN_KILLS)
    with nemesis.at_work():
        late = in_a_mix(stack, "probe", run, kills=MOST_KILLS)
    figures.tell(
        PROMISE,
        f"the same with {len(nemesis.strikes)} kills of a process that runs a slow one: {late}",
    )
    assert nemesis.strikes, "nobody was killed"


def _mix():
    return f"{PER_SECOND}/s for {SECONDS} s, one of {ONE_SLEEPS_OF} sleeps {SLEEP_SECONDS} s"


def in_a_mix(stack, kind, run=None, kills=0):
    """Return how long quick tasks wait among slow ones, while places are free."""
    run = run or Run(stack)
    requests = [
        run.request(
            n,
            fields={"type": kind},
            sleep_seconds=QUICK_SECONDS if n % ONE_SLEEPS_OF else SLEEP_SECONDS,
        )
        for n in range(SECONDS * PER_SECOND)
    ]
    run.submit_many(requests, batch=1, callers=8, seconds=SECONDS)
    run.await_ends()
    run.verify(kills=kills, in_flight=PLACES)
    await_empty(stack, kind)
    return Waits(stack, run, labels_of(requests) - labels_of(requests[::ONE_SLEEPS_OF]))


def labels_of(requests):
    return {one["idempotency_key"] for one in requests}


def begun(stack, run):
    """Return when each task of the run began first."""
    first = {}
    for line in stack.left(set(run.ids)):
        if line["kind"] == "start":
            first.setdefault(line["label"], line["at_ms"])
    return first


def a_process_of(stack, slow):
    """Return the process that began a slow task last."""
    pids = [line["pid"] for line in stack.left(slow) if line["kind"] == "start"]
    return pids[-1] if pids else None


class Waits:
    """How long tasks waited from their submission until they began."""

    def __init__(self, stack, run, labels):
        first = begun(stack, run)
        asked = {one.label: one.invoked_ms for one in run.submits if one.label in labels}
        self._ms = sorted(first[label] - at for label, at in asked.items())

    def __str__(self):
        return f"quick ones wait {self._at(50)} (p50), {self.p99} (p99), {self._ms[-1]} ms at most"

    @property
    def p99(self):
        return self._at(99)

    def _at(self, percent):
        return self._ms[min(len(self._ms) * percent // 100, len(self._ms) - 1)]
