"""Rows fold in any order, and runs of offsets have no gaps."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw
from msgspec.structs import replace

from taskmill.core.task import Millis, Priority, Timing
from taskmill.ledger.projection import merged, row_of, runs_of
from tests.builders import (
    NOW,
    a_position,
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


@st.composite
def rows(draw):
    """Return a row from some record of one task's log; equal positions give equal rows."""
    generation, turn = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    task = an_envelope(
        generation=generation, submission=f"s{generation}", payload=Raw(b"%d" % generation)
    )
    later = replace(task, turn=turn, attempt=turn)
    losses = draw(st.integers(0, 2))
    token = generation * 100 + turn * 10 + losses
    spent = {"token": token, "losses": losses, "started_at_ms": Millis(NOW + token)}
    ends = {1: succeeded, 2: died, 3: cancelled}
    tell = draw(
        st.sampled_from(
            [None, changed, started, lost, deferred, cancel_requested, ends[generation]]
        )
    )
    if tell is None:
        return row_of(task)
    if tell is cancel_requested:
        return row_of(tell(later))
    if tell is changed:
        second = replace(task, turn=2, timing=Timing(turn=2), priority=Priority.HIGH)
        return row_of(changed(replace(second, order_ms=Millis(NOW - 1))))
    if tell is deferred and turn == 2:  # the next turn has another order
        return row_of(deferred(later, reason="snoozed", **spent))
    if tell is lost:
        return row_of(lost(later, **spent | {"losses": losses + 1}))
    if tell is ends[generation]:  # a generation ends once
        last = {"token": generation * 100 + 35, "started_at_ms": Millis(NOW + generation)}
        return row_of(tell(replace(task, turn=3, attempt=3), **last, losses=2))
    return row_of(tell(later, **spent))


@given(rows(), rows())
def test_two_rows_merge_to_the_same_from_either_side(one, other):
    assert merged(one, other) == merged(other, one)


@given(rows(), rows(), rows())
def test_three_rows_merge_to_the_same_in_either_grouping(one, two, three):
    assert merged(merged(one, two), three) == merged(one, merged(two, three))


@given(rows(), rows())
def test_a_row_that_is_told_again_changes_nothing(one, other):
    both = merged(one, other)
    assert merged(one, one) == one
    assert merged(both, one) == merged(both, other) == both


@given(rows(), rows())
def test_a_row_never_goes_back(one, other):
    assert merged(one, other).precedence >= max(one.precedence, other.precedence)


def test_a_dropped_submission_tells_nothing_of_the_row():
    assert row_of(dropped(an_envelope())) is None


def test_a_later_turn_that_waits_for_its_worker_has_the_order_of_the_change_before():
    second = an_envelope(turn=2, timing=Timing(turn=2), order_ms=Millis(NOW - 1))
    change, parked = row_of(changed(second)), row_of(replace(second, parked_until_ms=NOW))
    assert (parked.order_ms, parked.ordered) == (change.order_ms, change.ordered) == (NOW - 1, 2)


def test_runs_end_at_gaps_and_at_partitions():
    places = [a_position(n) for n in (3, 1, 2, 7)] + [a_position(8, partition=1)]
    runs = runs_of((place, Millis(NOW + place.offset)) for place in places)
    assert [(run.partition, run.first, run.next, run.as_of_ms - NOW) for run in runs] == [
        (0, 1, 4, 3),
        (0, 7, 8, 7),
        (1, 8, 9, 8),
    ]


@given(st.sets(st.integers(0, 30)))
def test_runs_hold_each_position_once(offsets):
    runs = runs_of((a_position(offset), NOW) for offset in offsets)
    held = [offset for run in runs for offset in range(run.first, run.next)]
    assert held == sorted(offsets)
    assert all(left.next < right.first for left, right in pairwise(runs))


def test_nothing_applied_is_no_run():
    assert runs_of([]) == []
