"""Tasks that fail together are retried at different times (P11)."""

from collections import Counter

import pytest

from tests.faults.history import Backoff
from tests.faults.measured import exceeding
from tests.faults.run import Run, starts

HERD = 1_000
FIRST = 2.0
SHARE = 0.25
STEP_MS = 100


@pytest.mark.usefixtures("run")
def test_a_herd_that_fails_together_spreads_and_backs_off(stack, figures):
    assert exceeding(lambda: a_herd(stack, figures)) == []


def a_herd(stack, figures):
    """Return the largest share that restarts within a time step, and its maximum."""
    run, fields = Run(stack), {"retry": {"first_seconds": FIRST, "factor": 2, "cap_seconds": 60}}
    run.submit_many(
        (run.request(n, fields=fields, ill="raise", ill_runs=2) for n in range(HERD)), batch=500
    )
    run.await_ends()
    backoff = Backoff(first_ms=int(FIRST * 1000), factor=2, cap_ms=60_000)
    history = run.verify(backoff=backoff, kills=0, in_flight=0)
    begun, waits = {}, {1: [], 2: []}
    for line in stack.left(set(run.ids)):
        if line["kind"] == "start":
            begun.setdefault(line["label"], []).append(line["at_ms"])
    for fact in history.facts:
        if fact.kind == "TaskDeferred":
            waits[fact.attempt].append(fact.due_at_ms - fact.at_ms)
    share = peak(times[1] for times in begun.values())
    spread = {attempt: peak(answer) for attempt, answer in waits.items()}
    figures.tell(
        "P11",
        f"{HERD:,} fail together: at most {share:.0%} of them start again within {STEP_MS} ms; "
        f"of their waits at most {spread[1]:.0%} fall together, {spread[2]:.0%} the second time",
    )
    assert set(starts(stack, set(run.ids)).values()) == {3}
    assert max(spread.values()) <= SHARE, "whatever else spreads them, chance does"
    assert sum(waits[2]) > 1.5 * sum(waits[1])
    return share, SHARE


def peak(moments):
    """Return the largest share of the herd within one time step."""
    steps = Counter(moment // STEP_MS for moment in moments)
    return max(steps.values()) / HERD
