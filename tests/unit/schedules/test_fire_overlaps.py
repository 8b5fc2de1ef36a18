"""A fire meets the task of the one before: both run, it waits, is skipped, or ends the other."""

import pytest

from taskmill.core.refusal import invalid
from taskmill.schedules.catch_up import CatchUp
from taskmill.schedules.fire import BATCH, LEDGER_MAY_LAG_MS, LONGEST_CANCELLING
from taskmill.schedules.firing import LOOK_AGAIN_MS, MOST_SELDOM_MS
from taskmill.schedules.schedule import OPEN_TASKS, FireTally, Overlap
from tests.unit.schedules.desk import MINUTE, NOON, SECOND


def test_overlapping_fires_are_allowed_unless_something_else_is_said(desk):
    desk.make()
    for _ in range(OPEN_TASKS + 3):
        desk.fire(behind=MINUTE)
    assert len(desk.fired()) == OPEN_TASKS + 3
    assert len(desk.seen().open_tasks) == OPEN_TASKS


def test_a_fire_is_skipped_while_the_task_before_has_not_ended(desk):
    desk.make(overlap=Overlap.SKIP)
    desk.fire(behind=MINUTE)
    desk.fire(behind=MINUTE)  # it is still enqueued
    tasks = desk.take()
    desk.fire(behind=MINUTE)  # it runs
    desk.end(*tasks)
    desk.fire(behind=MINUTE)
    assert desk.fired() == [60, 240]
    assert desk.seen().tally == FireTally(fired=2, skipped=2)


def test_a_task_that_was_refused_is_in_nobodys_way(desk):
    desk.make(overlap=Overlap.SKIP)
    desk.fire(behind=MINUTE)
    with desk.requests.held(most=1) as held:
        held.park(held.rows[0], invalid("invalid_payload", "it does not fit", "/payload"))
    desk.fire(behind=MINUTE)
    assert desk.fired() == [60, 120]


def test_a_task_that_the_ledger_does_not_know_yet_is_waited_for_but_not_for_ever(desk):
    desk.make(overlap=Overlap.SKIP, catch_up=CatchUp.NONE)
    desk.fire(behind=MINUTE)
    with desk.requests.held(most=1) as held:
        held.mark_done(held.rows)
    desk.fire(behind=MINUTE)
    assert desk.fired() == [60]
    desk.fire(behind=LEDGER_MAY_LAG_MS)
    assert len(desk.fired()) == 2


def test_of_many_that_are_made_up_for_one_does_not_overlap(desk):
    desk.make(overlap=Overlap.SKIP, catch_up=CatchUp.ALL)
    desk.fire(behind=5 * MINUTE)
    assert desk.fired() == [60]
    assert desk.seen().tally == FireTally(fired=1, skipped=4)


def test_one_fire_waits_for_the_task_before_and_those_behind_it_are_skipped(desk):
    desk.make(overlap=Overlap.QUEUE_ONE)
    desk.fire(behind=MINUTE)
    tasks = desk.take()
    desk.fire(behind=MINUTE)
    assert (desk.seen().held, desk.seen().next_at_ms) == ([NOON + 2 * MINUTE], NOON + 2 * MINUTE)
    assert desk.schedules.due(most=9).schedules == []
    for _ in range(5):
        desk.fire(behind=30 * SECOND)
    assert desk.fired() == [60]
    desk.end(*tasks)
    assert desk.fire(behind=MOST_SELDOM_MS) == 1
    assert desk.fired() == [60, 120]
    assert desk.seen().held == []
    assert desk.seen().tally == FireTally(fired=2, skipped=2)
    assert desk.seen().next_at_ms == NOON + 5 * MINUTE


def test_of_two_that_are_made_up_for_the_second_waits(desk):
    desk.make(overlap=Overlap.QUEUE_ONE, catch_up=CatchUp.ALL)
    desk.fire(behind=4 * MINUTE)
    assert desk.fired() == [60]
    assert (desk.seen().held, desk.seen().next_at_ms) == ([NOON + 2 * MINUTE], NOON + 2 * MINUTE)
    desk.end(*desk.take())
    desk.fire(behind=LOOK_AGAIN_MS)
    assert desk.fired() == [60, 120]
    assert desk.seen().tally == FireTally(fired=2, skipped=2)


def test_the_task_before_is_cancelled_when_the_next_one_is_to_begin(desk):
    desk.make(overlap=Overlap.CANCEL_RUNNING)
    desk.fire(behind=MINUTE)
    (first,) = desk.take()
    desk.fire(behind=MINUTE)
    assert desk.cancelled == [first.id]
    assert desk.fired() == [60, 120]
    assert desk.seen().tally == FireTally(fired=2)


def test_what_is_not_in_the_log_yet_cannot_be_cancelled_and_the_latest_fire_waits(desk):
    desk.make(overlap=Overlap.CANCEL_RUNNING)
    desk.fire(behind=MINUTE)
    desk.fire(behind=MINUTE)
    assert (desk.cancelled, desk.seen().held) == ([], [NOON + 2 * MINUTE])
    desk.fire(behind=MINUTE)
    assert desk.seen().next_at_ms == NOON + 3 * MINUTE
    (first,) = desk.take()
    desk.fire(behind=LOOK_AGAIN_MS)
    assert desk.cancelled == [first.id]
    assert desk.fired() == [60, 180]
    assert desk.seen().tally == FireTally(fired=2, skipped=1)


def test_a_fire_waits_until_it_is_known_that_the_task_before_is_cancelled(desk):
    desk.make(overlap=Overlap.CANCEL_RUNNING)
    desk.make("other")
    desk.fire(behind=MINUTE)
    desk.take()
    desk.can_cancel = False
    desk.fire(behind=MINUTE)
    assert (desk.fired(), desk.fired("other")) == ([60], [60, 120])
    desk.can_cancel = True
    desk.fire(behind=LOOK_AGAIN_MS)
    assert desk.fired() == [60, 120]


def test_a_store_that_hangs_while_one_is_cancelled_delays_no_other(desk):
    """All others have fired before, those of later batches, too."""
    desk.make("first", overlap=Overlap.CANCEL_RUNNING)
    for number in range(BATCH):
        desk.make(f"n{number}")
    desk.fire(behind=MINUTE)
    desk.take()
    seen = []
    desk.on_cancel = lambda: seen.append(len(desk.requests.kept))
    desk.fire(behind=MINUTE)
    assert seen == [BATCH + 1 + BATCH]
    assert desk.fired("first") == [60, 120]


def test_cancelling_ends_with_its_time_and_goes_on_in_another_turn(desk):
    desk.cancelling_takes = LONGEST_CANCELLING
    for number in range(5):
        desk.make(f"n{number}", overlap=Overlap.CANCEL_RUNNING)
    desk.fire(behind=MINUTE)
    desk.take()
    told = [desk.fire(behind=MINUTE), *(desk.fire(behind=SECOND) for _ in range(3))]
    assert told == [2, 2, 1, 0]
    assert len(desk.cancelled) == 5
    for number in range(5):
        assert desk.fired(f"n{number}") == [60, 120]
        assert desk.seen(f"n{number}").tally == FireTally(fired=2)


def test_a_scheduler_that_dies_while_it_cancels_leaves_the_fire_to_the_next(desk):
    desk.make(overlap=Overlap.CANCEL_RUNNING)
    desk.fire(behind=MINUTE)
    tasks = desk.take()

    def die():
        raise KeyboardInterrupt

    desk.on_cancel = die
    with pytest.raises(KeyboardInterrupt):
        desk.fire(behind=MINUTE)
    desk.on_cancel = lambda: None
    desk.end(*tasks)
    desk.fire(behind=LOOK_AGAIN_MS)
    assert desk.fired() == [60, 120]
    assert desk.seen().tally == FireTally(fired=2)
