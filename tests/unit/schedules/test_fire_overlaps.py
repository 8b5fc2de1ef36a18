"""A fire overlaps the previous task: both run, it waits, is skipped, or cancels the other."""

import pytest

from taskmill.core.refusal import invalid
from taskmill.schedules.catch_up import CatchUp
from taskmill.schedules.fire_due import BATCH, LEDGER_MAY_LAG_MS, LONGEST_CANCELLING
from taskmill.schedules.fire_step import LOOK_AGAIN_MS, MOST_SELDOM_MS
from taskmill.schedules.schedule import OPEN_TASKS, FireTally, Overlap
from tests.unit.schedules.scheduling import MINUTE, NOON, SECOND


def test_overlapping_fires_are_allowed_unless_something_else_is_said(scheduling):
    scheduling.make()
    for _ in range(OPEN_TASKS + 3):
        scheduling.fire(behind=MINUTE)
    assert len(scheduling.fired()) == OPEN_TASKS + 3
    assert len(scheduling.seen().open_tasks) == OPEN_TASKS


def test_a_fire_is_skipped_while_the_task_before_has_not_ended(scheduling):
    scheduling.make(overlap=Overlap.SKIP)
    scheduling.fire(behind=MINUTE)
    scheduling.fire(behind=MINUTE)  # it is still enqueued
    tasks = scheduling.take()
    scheduling.fire(behind=MINUTE)  # it runs
    scheduling.end(*tasks)
    scheduling.fire(behind=MINUTE)
    assert scheduling.fired() == [60, 240]
    assert scheduling.seen().tally == FireTally(fired=2, skipped=2)


def test_a_task_that_was_refused_is_in_nobodys_way(scheduling):
    scheduling.make(overlap=Overlap.SKIP)
    scheduling.fire(behind=MINUTE)
    with scheduling.requests.held(most=1) as held:
        held.park(held.rows[0], invalid("invalid_payload", "it does not fit", "/payload"))
    scheduling.fire(behind=MINUTE)
    assert scheduling.fired() == [60, 120]


def test_a_task_that_the_ledger_does_not_know_yet_is_waited_for_but_not_for_ever(scheduling):
    scheduling.make(overlap=Overlap.SKIP, catch_up=CatchUp.NONE)
    scheduling.fire(behind=MINUTE)
    with scheduling.requests.held(most=1) as held:
        held.mark_done(held.rows)
    scheduling.fire(behind=MINUTE)
    assert scheduling.fired() == [60]
    scheduling.fire(behind=LEDGER_MAY_LAG_MS)
    assert len(scheduling.fired()) == 2


def test_of_many_that_are_made_up_for_one_does_not_overlap(scheduling):
    scheduling.make(overlap=Overlap.SKIP, catch_up=CatchUp.ALL)
    scheduling.fire(behind=5 * MINUTE)
    assert scheduling.fired() == [60]
    assert scheduling.seen().tally == FireTally(fired=1, skipped=4)


def test_one_fire_waits_for_the_task_before_and_those_behind_it_are_skipped(scheduling):
    scheduling.make(overlap=Overlap.QUEUE_ONE)
    scheduling.fire(behind=MINUTE)
    tasks = scheduling.take()
    scheduling.fire(behind=MINUTE)
    assert (scheduling.seen().held, scheduling.seen().next_at_ms) == (
        [NOON + 2 * MINUTE],
        NOON + 2 * MINUTE,
    )
    assert scheduling.schedules.due(most=9).schedules == []
    for _ in range(5):
        scheduling.fire(behind=30 * SECOND)
    assert scheduling.fired() == [60]
    scheduling.end(*tasks)
    assert scheduling.fire(behind=MOST_SELDOM_MS) == 1
    assert scheduling.fired() == [60, 120]
    assert scheduling.seen().held == []
    assert scheduling.seen().tally == FireTally(fired=2, skipped=2)
    assert scheduling.seen().next_at_ms == NOON + 5 * MINUTE


def test_of_two_that_are_made_up_for_the_second_waits(scheduling):
    scheduling.make(overlap=Overlap.QUEUE_ONE, catch_up=CatchUp.ALL)
    scheduling.fire(behind=4 * MINUTE)
    assert scheduling.fired() == [60]
    assert (scheduling.seen().held, scheduling.seen().next_at_ms) == (
        [NOON + 2 * MINUTE],
        NOON + 2 * MINUTE,
    )
    scheduling.end(*scheduling.take())
    scheduling.fire(behind=LOOK_AGAIN_MS)
    assert scheduling.fired() == [60, 120]
    assert scheduling.seen().tally == FireTally(fired=2, skipped=2)


def test_the_task_before_is_cancelled_when_the_next_one_is_to_begin(scheduling):
    scheduling.make(overlap=Overlap.CANCEL_RUNNING)
    scheduling.fire(behind=MINUTE)
    (first,) = scheduling.take()
    scheduling.fire(behind=MINUTE)
    assert scheduling.cancelled == [first.id]
    assert scheduling.fired() == [60, 120]
    assert scheduling.seen().tally == FireTally(fired=2)


def test_what_is_not_in_the_log_yet_cannot_be_cancelled_and_the_latest_fire_waits(scheduling):
    scheduling.make(overlap=Overlap.CANCEL_RUNNING)
    scheduling.fire(behind=MINUTE)
    scheduling.fire(behind=MINUTE)
    assert (scheduling.cancelled, scheduling.seen().held) == ([], [NOON + 2 * MINUTE])
    scheduling.fire(behind=MINUTE)
    assert scheduling.seen().next_at_ms == NOON + 3 * MINUTE
    (first,) = scheduling.take()
    scheduling.fire(behind=LOOK_AGAIN_MS)
    assert scheduling.cancelled == [first.id]
    assert scheduling.fired() == [60, 180]
    assert scheduling.seen().tally == FireTally(fired=2, skipped=1)


def test_a_fire_waits_until_it_is_known_that_the_task_before_is_cancelled(scheduling):
    scheduling.make(overlap=Overlap.CANCEL_RUNNING)
    scheduling.make("other")
    scheduling.fire(behind=MINUTE)
    scheduling.take()
    scheduling.can_cancel = False
    scheduling.fire(behind=MINUTE)
    assert (scheduling.fired(), scheduling.fired("other")) == ([60], [60, 120])
    scheduling.can_cancel = True
    scheduling.fire(behind=LOOK_AGAIN_MS)
    assert scheduling.fired() == [60, 120]


def test_a_store_that_hangs_while_one_is_cancelled_delays_no_other(scheduling):
    """All others have fired before, those of later batches, too."""
    scheduling.make("first", overlap=Overlap.CANCEL_RUNNING)
    for number in range(BATCH):
        scheduling.make(f"n{number}")
    scheduling.fire(behind=MINUTE)
    scheduling.take()
    seen = []
    scheduling.on_cancel = lambda: seen.append(len(scheduling.requests.kept))
    scheduling.fire(behind=MINUTE)
    assert seen == [BATCH + 1 + BATCH]
    assert scheduling.fired("first") == [60, 120]


def test_cancelling_ends_with_its_time_and_goes_on_in_another_turn(scheduling):
    scheduling.cancelling_takes = LONGEST_CANCELLING
    for number in range(5):
        scheduling.make(f"n{number}", overlap=Overlap.CANCEL_RUNNING)
    scheduling.fire(behind=MINUTE)
    scheduling.take()
    answer = [scheduling.fire(behind=MINUTE), *(scheduling.fire(behind=SECOND) for _ in range(3))]
    assert answer == [2, 2, 1, 0]
    assert len(scheduling.cancelled) == 5
    for number in range(5):
        assert scheduling.fired(f"n{number}") == [60, 120]
        assert scheduling.seen(f"n{number}").tally == FireTally(fired=2)


def test_a_scheduler_that_dies_while_it_cancels_leaves_the_fire_to_the_next(scheduling):
    scheduling.make(overlap=Overlap.CANCEL_RUNNING)
    scheduling.fire(behind=MINUTE)
    tasks = scheduling.take()

    def die():
        raise KeyboardInterrupt

    scheduling.on_cancel = die
    with pytest.raises(KeyboardInterrupt):
        scheduling.fire(behind=MINUTE)
    scheduling.on_cancel = lambda: None
    scheduling.end(*tasks)
    scheduling.fire(behind=LOOK_AGAIN_MS)
    assert scheduling.fired() == [60, 120]
    assert scheduling.seen().tally == FireTally(fired=2)
