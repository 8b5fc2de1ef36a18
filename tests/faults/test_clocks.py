"""Clocks are not trusted: one process of each function has a wrong one (P31)."""

import signal
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from tests.faults.history import Backoff
from tests.faults.invariants import EARLY_MS
from tests.faults.measured import exceeding
from tests.faults.run import Run, now_ms
from tests.faults.stack import WORKER

TASKS = 300
FUNCTIONS = ("Gateway", "Dispatcher", WORKER, "Recorder")
OFF = [timedelta(minutes=10), -timedelta(minutes=10), timedelta(hours=1), -timedelta(hours=1)]
FIRST = 1.0
SECONDS = 3
PATIENCE_MS = 15_000
SPREAD = 2_000
OVER_SECONDS = 20
SPREAD_P50_MS = 150
SPREAD_P99_MS = 1_000
HERD = 5_000
HERD_P99_MS = 2_000
_BORN_AT_ANOTHER_TIME = """
SELECT count(*) FROM tasks WHERE metadata @> jsonb_build_object('run', %s::text)
AND abs(extract(EPOCH FROM created_at - now())) > 300
"""


@pytest.fixture
def off_by(stack, scheduler):
    """Let one process of each function, and the only scheduler, be off for a test."""
    orders = []

    def be_off(off):
        answer = {"TASKMILL_CLOCK_AHEAD_MS": off // timedelta(milliseconds=1)}
        orders.extend(stack.order(name, **answer) for name in FUNCTIONS)
        stack.signal(signal.SIGSTOP, "Scheduler")
        scheduler(**answer)

    yield be_off
    stack.signal(signal.SIGCONT, "Scheduler")
    stack.signal(signal.SIGKILL, *FUNCTIONS)
    assert not [order for order in orders if order.exists()], "nobody's clock was off"


@pytest.mark.parametrize("off", OFF, ids=lambda off: f"{off.total_seconds() / 60:+.0f} min")
def test_a_process_whose_clock_is_off_starts_nothing_early_or_late(
    stack, run, off_by, figures, off
):
    off_by(off)
    retry = {"retry": {"first_seconds": FIRST, "factor": 1}}
    later = {"delay_seconds": 1}
    requests = [
        run.request(n, fields=retry | (later if n % 4 else {}), ill="raise", ill_runs=n % 3)
        for n in range(TASKS)
    ]
    run.submit_many(requests, batch=5, callers=4, seconds=SECONDS)
    submitted = now_ms()
    run.await_ends()
    history = run.verify(
        backoff=Backoff(first_ms=int(FIRST * 1000), factor=1, cap_ms=300_000),
        faults_end_ms=submitted,
        bound_ms=PATIENCE_MS,
    )
    waits = between_starts(stack, run)
    ((elsewhen,),) = stack.ask(_BORN_AT_ANOTHER_TIME, run.name)
    figures.tell(
        "P31",
        f"clocks off by {off.total_seconds() / 60:+.0f} min: {TASKS} tasks, {elsewhen} of them "
        f"born then, {len(waits)} waits of {min(waits) / 1000:.1f} to {max(waits) / 1000:.1f} s",
    )
    assert elsewhen > 0
    assert len(waits) == sum(n % 3 for n in range(TASKS))
    assert min(waits) >= FIRST / 2 * 1000 - EARLY_MS
    assert {row.status for row in history.rows} == {"succeeded"}


def test_delayed_tasks_are_on_time_and_none_is_early(stack, run, off_by, figures):
    """One process of each function, and the only scheduler, are ten minutes ahead (P7).

    What was taken late is no later for that.
    """
    off_by(timedelta(minutes=10))
    first_ms = now_ms() + 5_000
    due = {run.label(n): first_ms + 1_000 * OVER_SECONDS * n // SPREAD for n in range(SPREAD)}
    late = lateness(stack, run, due)
    each = [
        late[at : at + SPREAD // OVER_SECONDS] for at in range(0, SPREAD, SPREAD // OVER_SECONDS)
    ]
    p50, p99 = (middle(percentile(one, percent) for one in each) for percent in (50, 99))
    figures.tell(
        "P7",
        f"{SPREAD:,} tasks due over {OVER_SECONDS} s: none early, late by {percentile(late, 50)} "
        f"(p50) and {percentile(late, 99)} ms (p99), in most seconds by {p50} and {p99} ms",
    )
    assert (p50 <= SPREAD_P50_MS, p99 <= SPREAD_P99_MS) == (True, True)


@pytest.mark.usefixtures("run")
def test_many_delayed_tasks_of_one_second_are_on_time(stack, figures):
    """On a machine that is busy with other things, as soon as those that have no time."""
    assert exceeding(lambda: a_herd(stack, figures)) == []


def a_herd(stack, figures):
    """Return how late the last begin of many that are due in one second, and how late they may."""
    took = the_same_without_a_time(stack)
    run = Run(stack)
    at_ms = now_ms() + 6_000
    late = lateness(stack, run, {run.label(n): at_ms + n // 5 for n in range(HERD)})
    p50, p99 = (percentile(late, percent) for percent in (50, 99))
    figures.tell(
        "P7",
        f"{HERD:,} tasks due in one second: none early, late by {p50} ms (p50) and {p99} ms (p99); "
        f"as many without a time take {took} ms",
    )
    return p99, max(HERD_P99_MS, 2 * took)


def the_same_without_a_time(stack):
    """Return after how many milliseconds the last of as many tasks begins."""
    run = Run(stack)
    requests = [run.request(n) for n in range(HERD)]
    began = now_ms()
    run.submit_many(requests, batch=500)
    run.await_ends()
    return max(starts(stack, run).values()) - began


def lateness(stack, run, due):
    """Run tasks that are due at a time each; return how late they began, in the order of *due*."""
    numbers = enumerate(due.values())
    run.submit_many([run.request(n, fields={"run_at": moment(at)}) for n, at in numbers], batch=500)
    run.await_ends()
    history = run.verify()
    begun = starts(stack, run)
    taken = {one.label: one.returned_ms for one in history.submits}
    assert begun.keys() == due.keys()
    assert [label for label, at in begun.items() if at < due[label] - EARLY_MS] == []
    return [begun[label] - max(due[label], taken[label]) for label in due]


def percentile(values, percent):
    values = sorted(values)
    return values[len(values) * percent // 100]


def middle(values):
    return percentile(values, 50)


def moment(at_ms):
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat()


def starts(stack, run):
    """Return when each task began first, by the clock that all handlers share."""
    begun = {}
    for line in stack.left(set(run.ids)):
        if line["kind"] == "start":
            begun[line["label"]] = min(line["at_ms"], begun.get(line["label"], line["at_ms"]))
    return begun


def between_starts(stack, run):
    """Return for how long tasks did not run, by the clock that all handlers share."""
    begun = defaultdict(list)
    for line in stack.left(set(run.ids)):
        if line["kind"] == "start":
            begun[line["label"]].append(line["at_ms"])
    return [after - before for times in begun.values() for before, after in pairwise(sorted(times))]
