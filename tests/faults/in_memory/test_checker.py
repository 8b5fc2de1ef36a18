"""The checker accepts sound histories and finds each fault in broken ones."""

import time
from dataclasses import replace

import pytest

from tests.faults.checker import INVARIANTS, check
from tests.faults.history import (
    Backoff,
    Effect,
    Fired,
    History,
    Outcome,
    Plan,
    Read,
    Redrive,
    Sample,
    Submit,
    TaskVersion,
    Told,
)

OPERATIONS = 50_000


def a_history(tasks=3):
    """Return a run in which each task was deferred once, lost once, and succeeded."""
    submits, reads, effects, facts, rows, records = [], [], [], [], [], {}
    for number in range(tasks):
        name, start = f"t{number}", 1_000 + number
        submits.append(Submit(label=name, body=name, key=f"k{number}", id=name, http=202))
        reads += [Read(reader="r", id=name, status=s) for s in ("queued", "running", "running")]
        reads += [
            Read(reader="r", id=name, status="retrying", attempt=2, losses=1),
            Read(reader="r", id=name, status="succeeded", attempt=2, losses=1),
        ]
        effects += [
            Effect(label=name, generation=1, is_owned=True),
            Effect(label=name, generation=1, is_owned=False, token=name),
        ]
        facts += [
            Told(id=name, kind="TaskSubmitted", at_ms=start),
            Told(id=name, kind="TaskStarted", token=5, started_at_ms=start),
            Told(id=name, kind="AttemptLost", token=5, losses=1, at_ms=start + 5),
            Told(
                id=name,
                kind="TaskDeferred",
                token=7,
                losses=1,
                at_ms=start + 10,
                due_at_ms=start + 1_010,
                reason="failed",
            ),
            Told(
                id=name,
                kind="TaskSucceeded",
                turn=2,
                attempt=2,
                token=9,
                losses=1,
                at_ms=start + 1_020,
                started_at_ms=start + 1_015,
            ),
        ]
        rows.append(
            TaskVersion(
                id=name,
                label=name,
                status="succeeded",
                turn=2,
                attempt=2,
                losses=1,
                finished_at_ms=start + 1_020,
            )
        )
        records[name] = (1, "succeeded")
    return History(
        submits=submits,
        reads=reads,
        effects=effects,
        facts=facts,
        rows=rows,
        records=records,
        faults_end_ms=900,
        backoff=Backoff(first_ms=1_000, factor=2, cap_ms=300_000),
        kills=1,
        in_flight=10,
        plans=[Plan(schedule="s", fires_ms=[1_000, 2_000])],
        fires=[_fired(1_000), _fired(2_000), _fired(2_000)],
        samples=[Sample(name="outbox", value=3, cap=10)],
    )


def _fired(nominal_ms, **changes):
    answer = {"schedule": "s", "task_id": f"s{nominal_ms}", "at_ms": nominal_ms + 5}
    return Fired(nominal_ms=nominal_ms, **answer | changes)


def test_a_sound_history_has_no_complaints():
    assert check(a_history()) == []


def test_fifty_thousand_operations_are_checked_in_five_seconds(figures):
    history = a_history(tasks=OPERATIONS // 13 + 1)
    began = time.process_time()
    assert check(history) == []
    spent = time.process_time() - began
    figures.tell("checker", f"{history.size:,} operations checked in {spent:.2f} s")
    assert history.size >= OPERATIONS
    assert spent < 5


def row(history, **changes):
    return replace(history, rows=[replace(history.rows[0], **changes), *history.rows[1:]])


def more(history, name, *added):
    return replace(history, **{name: [*getattr(history, name), *added]})


def fact(history, kind, **changes):
    """Change the first fact of this kind."""
    facts = list(history.facts)
    at = next(index for index, one in enumerate(facts) if one.kind == kind)
    facts[at] = replace(facts[at], **changes)
    return replace(history, facts=facts)


def submit(history, **changes):
    return replace(history, submits=[replace(history.submits[0], **changes), *history.submits[1:]])


BROKEN = {
    "an acknowledged task is unknown": (
        "I1 no loss",
        lambda h: replace(h, rows=h.rows[1:], records={}, facts=h.facts[5:]),
    ),
    "an acknowledged task never ends": (
        "I1 no loss",
        lambda h: row(h, status="running", finished_at_ms=None),
    ),
    "a task that was taken as deferred never ends": (
        "I1 no loss",
        lambda h: row(submit(h, outcome=Outcome.DEFERRED), status="running", finished_at_ms=None),
    ),
    "a task ends long after the faults": ("I1 no loss", lambda h: row(h, finished_at_ms=99_000)),
    "nobody asked for a task": (
        "I2 no phantom",
        lambda h: more(h, "rows", TaskVersion(id="x", label="x", status="dead")),
    ),
    "a refused request ran": (
        "I2 no phantom",
        lambda h: submit(h, outcome=Outcome.FAIL),
    ),
    "one request became two tasks": (
        "I2 no phantom",
        lambda h: more(h, "rows", replace(h.rows[0], id="again")),
    ),
    "a generation ends twice": (
        "I3 one terminal",
        lambda h: more(h, "facts", Told(id="t0", kind="TaskDied", turn=2, attempt=2, token=8)),
    ),
    "a task lives again by itself": (
        "I3 one terminal",
        lambda h: more(h, "facts", Told(id="t0", kind="TaskStarted", generation=2, token=12)),
    ),
    "a fact follows on an end": (
        "I4 monotonic",
        lambda h: more(h, "facts", Told(id="t0", kind="TaskStarted", turn=3, attempt=3, token=11)),
    ),
    "the row says something else than the history": (
        "I4 monotonic",
        lambda h: row(h, status="dead"),
    ),
    "a turn is settled again": (
        "I4 monotonic",
        lambda h: fact(h, "TaskSucceeded", turn=1),
    ),
    "a reader sees a status go back": (
        "I4 monotonic",
        lambda h: more(h, "reads", Read(reader="r", id="t0", status="running", attempt=2)),
    ),
    "a reader sees attempts shrink": (
        "I4 monotonic",
        lambda h: replace(
            h, reads=[Read(reader="r", id="t0", status="running", attempt=n) for n in (2, 1)]
        ),
    ),
    "an owned effect stands twice": (
        "I5 effect once",
        lambda h: more(h, "effects", Effect(label="t0", generation=1, is_owned=True)),
    ),
    "a success left no effect": ("I5 effect once", lambda h: replace(h, effects=h.effects[2:])),
    "an effect changes its token": (
        "I5 effect once",
        lambda h: more(
            h,
            "effects",
            Effect(label="t0", generation=1, is_owned=False, token="other"),  # noqa: S106 - it opens nothing
        ),
    ),
    "more effects repeat than kills explain": (
        "I5 effect once",
        lambda h: more(h, "effects", *[h.effects[1]] * 11),
    ),
    "an effect repeats though nothing runs beside it": (
        "I5 effect once",
        lambda h: more(replace(h, in_flight=0), "effects", h.effects[1]),
    ),
    "a stale holder settles": ("I6 fencing", lambda h: fact(h, "TaskDeferred", token=5)),
    "a token is smaller than one before": (
        "I6 fencing",
        lambda h: fact(h, "TaskSucceeded", token=6),
    ),
    "a retry starts early": ("I7 not early", lambda h: fact(h, "TaskSucceeded", started_at_ms=1)),
    "a delayed task starts early": ("I7 not early", lambda h: submit(h, run_at_ms=9_000)),
    "a key names two tasks": (
        "I8 idempotency",
        lambda h: more(h, "submits", replace(h.submits[0], id="t1", label="t1", body="t0")),
    ),
    "a key takes two bodies": (
        "I8 idempotency",
        lambda h: more(h, "submits", replace(h.submits[0], body="other")),
    ),
    "more attempts than allowed": ("I10 attempts", lambda h: row(h, attempt=5)),
    "a loss spends an attempt": (
        "I10 attempts",
        lambda h: fact(h, "TaskDeferred", attempt=2),
    ),
    "a retry spends none": ("I10 attempts", lambda h: fact(h, "TaskSucceeded", attempt=1)),
    "a retry comes too soon": ("I10 attempts", lambda h: fact(h, "TaskDeferred", due_at_ms=1_100)),
    "an innocent task dies": ("P1 blame", lambda h: row(h, status="dead", reason="poison")),
    "an instant is two tasks": (
        "I13 cron",
        lambda h: more(h, "fires", _fired(1_000, task_id="other")),
    ),
    "an instant is missed": ("I13 cron", lambda h: replace(h, fires=h.fires[1:])),
    "what was to be missed fires": ("I13 cron", lambda h: more(h, "fires", _fired(1_500))),
    "an instant fires early": (
        "I13 cron",
        lambda h: more(h, "fires", _fired(2_000, at_ms=1_999)),
    ),
    "a taken task is in no state": (
        "I14 conservation",
        lambda h: replace(h, rows=h.rows[1:]),
    ),
    "Redis and ledger differ": (
        "I14 conservation",
        lambda h: replace(h, records=dict(h.records) | {"t0": (1, "running")}),
    ),
    "something grows past its cap": (
        "I16 bounded",
        lambda h: more(h, "samples", Sample(name="memory", value=11, cap=10)),
    ),
    "a request meets a 500": (
        "I16 bounded",
        lambda h: more(h, "submits", replace(h.submits[0], http=500, outcome=Outcome.UNKNOWN)),
    ),
    "a refusal does not say when to come again": (
        "I16 bounded",
        lambda h: more(h, "submits", replace(h.submits[0], http=503, outcome=Outcome.UNKNOWN)),
    ),
    "a request hangs": ("I16 bounded", lambda h: submit(h, returned_ms=99_000)),
}


@pytest.mark.parametrize(("invariant", "broken"), BROKEN.values(), ids=BROKEN)
def test_a_broken_history_is_seen(invariant, broken):
    found = {complaint.invariant for complaint in check(broken(a_history()))}
    assert invariant in found


def test_each_invariant_was_seen_to_fail():
    assert {invariant for invariant, _ in BROKEN.values()} == set(INVARIANTS)


def test_a_redrive_allows_another_life():
    history = more(a_history(), "redrives", Redrive(id="t0"))
    again = [
        Told(id="t0", kind="TaskStarted", generation=2, token=12),
        Told(id="t0", kind="TaskSucceeded", generation=2, token=12),
    ]
    history = row(more(history, "facts", *again), generation=2)
    assert check(replace(history, records={})) == []
