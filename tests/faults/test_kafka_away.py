"""Kafka is unavailable: intake continues up to a stated cap (P18)."""

import signal
import time

import pytest

from tests.faults.history import Sample
from tests.faults.measured import exceeding
from tests.faults.run import Run, now_ms
from tests.faults.stack import OUTBOX_CAP
from tests.waiting import eventually

RATE = 50
SECONDS_AWAY = 30
DRAIN_SECONDS = 30
BATCH = 100


@pytest.mark.usefixtures("run")
def test_while_kafka_is_away_intake_goes_on_up_to_the_cap(stack, figures):
    assert exceeding(lambda: an_outage(stack, figures)) == []


def an_outage(stack, figures):
    """Return how many submits were refused below the cap, and how many may be."""
    run = Run(stack)
    taken = RATE * SECONDS_AWAY
    assert taken < OUTBOX_CAP
    stack.ground.end("Kafka", signal.SIGKILL)
    try:
        run.submit_many([run.request(n) for n in range(taken)], batch=5, seconds=SECONDS_AWAY)
        refused = run.refused()
        beyond = fill_up(run, first=taken)
        kept = unsent(stack)
    finally:
        stack.ground.revive("Kafka")
    began, back_ms = time.monotonic(), now_ms()
    eventually(lambda: unsent(stack) == 0, within=60, reason="the outbox is empty")
    drained = time.monotonic() - began
    run.await_ends()
    cap = Sample(name="outbox", value=kept, cap=OUTBOX_CAP)
    assert run.complaints(faults_end_ms=back_ms, bound_ms=DRAIN_SECONDS * 1000, samples=[cap]) == []
    figures.tell(
        "P18",
        f"{taken:,} tasks in {SECONDS_AWAY} s: {refused} submits refused; 503 with {kept:,} "
        f"waiting of {OUTBOX_CAP:,}; drained {drained:.1f} s after",
    )
    assert drained <= DRAIN_SECONDS
    assert beyond.status == 503
    assert int(beyond.headers["retry-after"]) >= 1
    return refused, 0


def fill_up(run, *, first):
    """Bring batches, and a task alone when none of one was taken; return how that was refused."""
    for number in range(first, first + 2 * OUTBOX_CAP, BATCH):
        if not run.offer([run.request(n) for n in range(number, number + BATCH)]):
            answer = run.ask(run.request(f"beyond {number}"))
            if answer is not None and answer.status == 503:
                return answer
    raise AssertionError("the outbox is never full")


def unsent(stack):
    query = "SELECT count(*) FROM outbox WHERE published_at IS NULL AND parked_reason IS NULL"
    ((count,),) = stack.ask(query)
    return count
