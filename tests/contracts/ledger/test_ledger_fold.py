"""The same facts give the same rows and history, in any order and however often repeated."""

from functools import partial
from itertools import pairwise, permutations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Raw
from msgspec.structs import replace

from taskmill.core.pointers import Pointer
from taskmill.core.task import Millis, Priority, Status, Timing
from taskmill.core.view import Waiting
from taskmill.ledger.projection import LedgerBatch, LedgerFold
from tests.builders import (
    NOW,
    a_new_id,
    admitted,
    an_envelope,
    cancel_requested,
    cancelled,
    changed,
    deferred,
    died,
    dropped,
    lost,
    started,
    succeeded,
)
from tests.contracts.ledgers import batch_of, flat_entry, flat_row, in_order

POINTER = Pointer(url="s3://bucket/results/echo/x", size=3_000_000, sha256="0" * 64)
ENDS = [succeeded, partial(succeeded, result_ref=POINTER), died, cancelled]


@st.composite
def generations(draw, task_id, number):
    """Return the facts of one generation of a task, as the functions would publish them."""
    base = NOW + number * 10_000
    task = an_envelope(
        id=task_id,
        generation=base,
        created_at_ms=Millis(base),
        submission=f"s{number}",
        fingerprint=f"f{number}",
        payload=Raw(b"[%d]" % number),
        payload_ref=draw(st.sampled_from([None, POINTER])),
        priority=draw(st.sampled_from(Priority)),
        fairness_key=draw(st.sampled_from([None, f"a customer {number}"])),
        index=number,
    )
    answer = [draw(st.sampled_from([task, admitted(task)])), dropped(replace(task, submission="x"))]
    losses, token = 0, base * 1000
    for attempt in range(1, draw(st.integers(1, 3)) + 1):
        turn = attempt * 3 - 2
        this = replace(task, turn=turn, attempt=attempt)
        for _ in range(draw(st.integers(0, 2))):
            token, losses = token + 1, losses + 1
            answer.append(lost(this, token=token, losses=losses, at_ms=Millis(base + token % 997)))
        token += 1
        spent = {"token": token, "losses": losses, "started_at_ms": Millis(base + turn)}
        answer.append(started(this, **spent))
        if draw(st.booleans()):
            answer.append(cancel_requested(this))
        later = deferred(this, **spent, due_at_ms=Millis(base + turn * 100), reason=draw(REASONS))
        answer += [later, *draw(changes(replace(this, turn=turn + 2, attempt=attempt + 1)))]
    end = draw(st.sampled_from([None, *ENDS]))
    return [*answer[: answer.index(later)], end(this, **spent)] if end else answer


REASONS = st.sampled_from(["failed", "snoozed"])


@st.composite
def changes(draw, task):
    """Return a change of a task that waits for its next attempt, or none."""
    timing = Timing(run_at_ms=Millis(NOW + task.turn), said_ms=NOW, turn=task.turn)
    order_ms = draw(st.sampled_from([None, Millis(NOW - task.turn)]))
    priority = draw(st.sampled_from(Priority))
    following = replace(task, priority=priority, timing=timing, order_ms=order_ms)
    return [changed(following)] if draw(st.booleans()) else []


@st.composite
def logs(draw):
    """Return a log of some tasks: shuffled, with repetitions, cut into batches."""
    answer = []
    for _ in range(draw(st.integers(1, 2))):
        task_id = a_new_id()
        for number in range(draw(st.integers(1, 2))):
            whole = draw(generations(task_id, number))
            answer += (
                draw(st.lists(st.sampled_from(whole), min_size=1)) if draw(st.booleans()) else whole
            )
    repeated = answer + draw(st.lists(st.sampled_from(answer), max_size=10))
    shuffled = draw(st.permutations(repeated))
    cuts = sorted(draw(st.lists(st.integers(0, len(shuffled)), max_size=4)))
    return answer, [shuffled[a:b] for a, b in pairwise([0, *cuts, len(shuffled)])]


def folded_at_once(answer):
    story = LedgerFold()
    story.add(answer)
    rows = [flat_row(row) for _, row in sorted(story.rows.items())]
    return rows, in_order(flat_entry(entry) for entry in story.history.values())


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(logs())
def test_order_repetition_and_batches_change_nothing(ledger, log):
    answer, batches = log
    ledger.empty()
    for batch in batches:
        ledger.ledger.record(batch_of(*batch))
    assert (ledger.table(), ledger.history()) == folded_at_once(answer)


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_of_two_ends_of_one_turn_the_later_lease_decides_in_any_order(ledger, order):
    task = an_envelope()
    answer = [
        started(task, token=9),
        succeeded(task, token=5, result=Raw(b"1")),
        succeeded(task, token=9, result=Raw(b"2")),
    ]
    for index in order:
        ledger.ledger.record(batch_of(answer[index]))
    (row,) = ledger.table()
    assert (row["result"], row["token"], row["largest_token"]) == ("2", 9, 9)


def test_a_deferred_submission_makes_a_row(ledger):
    waiting = an_envelope(generation=0, deferred=True, fingerprint="first")
    ledger.ledger.record(batch_of(waiting))
    assert ledger.rows.fingerprint(waiting.id) == "first"


def test_a_deferred_submission_never_replaces_a_row(ledger):
    ledger.ledger.record(batch_of(an_envelope()))
    before = ledger.table()
    ledger.ledger.record(batch_of(an_envelope(generation=0, deferred=True, fingerprint="late")))
    assert ledger.table() == before


def test_the_first_of_two_deferred_submissions_stays_until_one_is_admitted(ledger):
    first = an_envelope(generation=0, deferred=True, submission="a", fingerprint="first")
    second = an_envelope(generation=0, deferred=True, submission="b", fingerprint="second")
    ledger.ledger.record(batch_of(first))
    ledger.ledger.record(batch_of(second))
    assert ledger.rows.fingerprint(first.id) == "first"
    ledger.ledger.record(batch_of(admitted(replace(second, generation=NOW, deferred=False))))
    assert ledger.rows.fingerprint(first.id) == "second"


def test_two_deferred_submissions_of_one_batch_leave_the_first(ledger):
    first = an_envelope(generation=0, deferred=True, submission="a", fingerprint="first")
    second = an_envelope(generation=0, deferred=True, submission="b", fingerprint="second")
    ledger.ledger.record(batch_of(first, second))
    assert ledger.rows.fingerprint(first.id) == "first"


def test_a_row_without_its_body_is_not_told(ledger):
    task = an_envelope()
    ledger.ledger.record(batch_of(succeeded(task)))
    assert ledger.rows.find(task.id) is None
    assert ledger.rows.payload(task.id, task.generation) is None


def test_a_body_that_arrives_late_fills_the_row(ledger):
    task = an_envelope()
    ledger.ledger.record(batch_of(succeeded(task)))
    ledger.ledger.record(batch_of(task))
    view = ledger.rows.find(task.id)
    assert (view.status, view.result) == (Status.SUCCEEDED, Raw(b'"hello"'))
    assert ledger.rows.payload(task.id, task.generation) == bytes(task.payload)


def test_a_fact_of_an_older_generation_changes_nothing(ledger):
    task = an_envelope()
    ledger.ledger.record(batch_of(task))
    before = ledger.table()
    ledger.ledger.record(batch_of(died(replace(task, generation=NOW - 1), token=0)))
    assert ledger.table() == before


def test_an_end_closes_its_generation_whatever_comes_later(ledger):
    task = an_envelope()
    ledger.ledger.record(batch_of(task, succeeded(task)))
    later = replace(task, turn=2, attempt=2)
    ledger.ledger.record(batch_of(deferred(task), started(later, token=9)))
    assert ledger.rows.find(task.id).status is Status.SUCCEEDED


def test_a_retrying_task_shows_why_and_until_when_it_waits(ledger):
    task = an_envelope()
    fact = deferred(task)
    ledger.ledger.record(batch_of(task, started(task), fact))
    waiting = Waiting(
        due_at_ms=fact.due_at_ms, reason="failed", error_class="Retry", error_message="busy"
    )
    view = ledger.rows.find(task.id)
    assert (view.status, view.attempt, view.waiting) == (Status.RETRYING, 1, waiting)
    ledger.ledger.record(batch_of(started(replace(task, turn=2, attempt=2), token=9)))
    assert ledger.rows.find(task.id).waiting is None


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_a_row_keeps_its_first_start_beside_the_latest(ledger, order):
    task = an_envelope()
    second = replace(task, turn=2, attempt=2)
    answer = [
        task,
        started(task, started_at_ms=Millis(NOW + 500)),
        deferred(task, started_at_ms=Millis(NOW + 500)),
        succeeded(second, started_at_ms=Millis(NOW + 9_000), token=9),
    ]
    for at in order:
        ledger.ledger.record(batch_of(answer[at]))
    view = ledger.rows.find(task.id)
    assert (view.started_at_ms, view.first_started_at_ms) == (NOW + 9_000, NOW + 500)
    assert batch_of(*(answer[at] for at in order)).rows[0].first_started_at_ms == NOW + 500


def test_a_new_life_has_a_first_start_of_its_own(ledger):
    task = an_envelope()
    again = replace(task, generation=task.generation + 1)
    ledger.ledger.record(batch_of(task, started(task, started_at_ms=Millis(NOW + 500))))
    ledger.ledger.record(batch_of(again, started(again, started_at_ms=Millis(NOW + 700), token=9)))
    view = ledger.rows.find(task.id)
    assert (view.started_at_ms, view.first_started_at_ms) == (NOW + 700, None)


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_a_wish_to_cancel_changes_no_status(ledger, order):
    task = an_envelope()
    answer = [task, started(task), cancel_requested(task)]
    for index in order:
        ledger.ledger.record(batch_of(answer[index]))
    view = ledger.rows.find(task.id)
    assert (view.status, view.cancel_requested) == (Status.RUNNING, True)


def test_a_wish_to_cancel_ends_with_its_generation(ledger):
    task = an_envelope()
    ledger.ledger.record(batch_of(task, cancel_requested(task), cancelled(task)))
    ledger.ledger.record(batch_of(an_envelope(generation=NOW + 1, submission="s2")))
    assert not ledger.rows.find(task.id).cancel_requested


def test_a_task_that_is_cancelled_while_it_waits_never_started(ledger):
    task = an_envelope()
    ledger.ledger.record(batch_of(task, cancelled(task, started_at_ms=None)))
    view = ledger.rows.find(task.id)
    assert (view.status, view.started_at_ms) == (Status.CANCELLED, None)


def test_a_new_generation_opens_a_closed_task(ledger):
    task = an_envelope()
    ledger.ledger.record(batch_of(task, succeeded(task)))
    again = an_envelope(generation=NOW + 1, submission="s2", payload=Raw(b"2"))
    ledger.ledger.record(batch_of(again))
    view = ledger.rows.find(task.id)
    assert (view.status, view.result, view.ending) == (Status.QUEUED, None, None)
    assert ledger.rows.payload(task.id, again.generation) == b"2"
    assert ledger.rows.payload(task.id, task.generation) is None, "that life is over"


def test_the_largest_token_is_kept(ledger):
    task = an_envelope()
    ledger.ledger.record(batch_of(task, died(task, token=5)))
    ledger.ledger.record(batch_of(lost(task, token=9, losses=1)))
    (row,) = ledger.table()
    assert (row["status"], row["largest_token"]) == ("dead", 9)


def test_losses_that_are_told_late_are_counted(ledger):
    task = an_envelope()
    ledger.ledger.record(batch_of(task, died(task, token=9)))
    ledger.ledger.record(batch_of(lost(task, token=5, losses=2)))
    assert ledger.rows.find(task.id).losses == 2


def test_nothing_to_record_is_no_failure(ledger):
    ledger.ledger.record(LedgerBatch())
    assert ledger.table() == []


def test_what_changes_nothing_is_told_apart(ledger):
    one, two = an_envelope(id=a_new_id()), an_envelope(id=a_new_id())
    assert ledger.ledger.record(batch_of(one, two)) == 0
    assert ledger.ledger.record(batch_of(succeeded(one), started(two))) == 0
    assert ledger.ledger.record(batch_of(one, succeeded(one), died(two))) == 1
    assert ledger.ledger.record(batch_of(started(one), started(two))) == 2
    assert ledger.ledger.record(batch_of()) == 0
