"""One poison task cannot stop others (P13)."""

from uuid import uuid4

import pytest

from taskmill.core import topics
from tests.faults.log import append
from tests.faults.run import Run, now_ms, starts
from tests.waiting import eventually

GOOD = 1_000
MORE_SECONDS = 30
RETRY = {"first_seconds": 0.2, "factor": 1, "cap_seconds": 0.2}
ENDS = {"raise": "failed", "exit": "poison", "kill": "poison", "hang": "timeout"}


@pytest.fixture(scope="module")
def clean(stack):
    """Return how long the good tasks take alone."""
    return seconds_for(Run(stack), ())


def test_two_killers_in_one_parcel_stop_no_good_one(stack, run, clean, figures):
    """They die one after another, and everything queued after them waits for all of them."""
    bad = [run.request(GOOD + at, ill=ill) for at, ill in enumerate(("exit", "kill"))]
    run.expected_dead.update(one["idempotency_key"] for one in bad)
    mixed = seconds_for(run, bad, are_together=True)
    assert run.complaints() == []
    ends = [(row.reason, row.losses) for row in run.rows() if row.label in run.expected_dead]
    figures.tell(
        "P13", f"the same beside two killers in one parcel: {mixed:.1f} s, {clean:.1f} s alone"
    )
    assert ends == [("poison", 3)] * 2
    assert mixed <= clean + len(bad) * MORE_SECONDS


def test_one_poison_task_of_every_kind_stops_no_good_one(stack, run, clean, figures):
    """Each is in a parcel of its own."""
    fields = {"max_attempts": 2, "timeout_seconds": 1, "retry": RETRY}
    bad = [run.request(GOOD + at, fields=fields, ill=ill) for at, ill in enumerate(ENDS)]
    run.expected_dead.update(one["idempotency_key"] for one in bad)
    garbage = b"never a task " + uuid4().hex.encode()
    append(stack, topics.PENDING, garbage)
    mixed = seconds_for(run, bad)
    assert run.complaints() == []
    ends = {row.label: row for row in run.rows() if row.label in run.expected_dead}
    reasons = [ends[one["idempotency_key"]].reason for one in bad]
    figures.tell(
        "P13",
        f"{GOOD:,} good tasks took {clean:.1f} s alone and {mixed:.1f} s beside five bad ones, "
        f"which ended as {', '.join(reasons)} and in quarantine",
    )
    assert reasons == list(ENDS.values())
    assert {ends[run.label(GOOD + at)].losses for at in (1, 2)} == {3}
    assert starts(stack, {run.label(GOOD + 1)}) == {run.label(GOOD + 1): 3}
    assert mixed <= clean + MORE_SECONDS
    eventually(
        lambda: stack.ask("SELECT count(*) FROM quarantine WHERE value = %s", garbage) == [(1,)],
        within=60,
        reason="what was never a task is kept as it was",
    )


def seconds_for(run, bad, *, are_together=False):
    """Submit the good tasks with bad ones among them; return when the last good one has ended."""
    tasks = [run.request(n, sleep_seconds=0.01) for n in range(GOOD)]
    good = {one["idempotency_key"] for one in tasks}
    among = GOOD // (len(bad) + 1)
    for at, one in enumerate(bad):
        tasks.insert(among if are_together else (at + 1) * among, one)
    began_ms = now_ms()
    run.submit_many(tasks)
    run.await_ends()
    rows = [row for row in run.rows() if row.label in good]
    assert {row.status for row in rows} == {"succeeded"}
    return (max(row.finished_at_ms for row in rows) - began_ms) / 1000
