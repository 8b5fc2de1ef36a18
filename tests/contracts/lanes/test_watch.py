"""The tick finds what is in flight for too long, and nobody else looks at it meanwhile."""

import pytest

from tests.builders import ECHO
from tests.contracts.hot import TYPES
from tests.contracts.lane_words import (
    A_WHILE,
    BEFORE,
    EMAIL,
    HOUR,
    a_task,
    back,
    later,
    leaves,
    members,
    members_of,
    take,
    tasks,
)


def watched(lanes, most=100):
    return dict(lanes.watch(most=most))[ECHO]


def test_what_was_just_taken_is_not_looked_at(hot):
    lanes = hot.lanes(lease=A_WHILE)
    lanes.enter(tasks(2))
    take(lanes)
    assert watched(lanes).tasks == ()


def test_a_look_that_has_come_names_the_task_with_its_bytes(hot):
    lanes, task = hot.lanes(lease=BEFORE), a_task()
    lanes.enter([task])
    taken = take(lanes)
    answer = watched(lanes)
    assert answer.epoch == taken.epoch
    assert [(one.member, one.raw) for one in answer.tasks] == [(*members_of([task]), task.raw)]


def test_two_schedulers_do_not_look_at_the_same_task(hot):
    lanes = hot.lanes(lease=BEFORE)
    lanes.enter(tasks(2))
    take(lanes, 2)
    assert len(watched(lanes).tasks) == 2
    assert watched(lanes).tasks == ()


def test_a_look_is_a_new_one_after_it_was_named(hot):
    lanes = hot.lanes(lease=BEFORE)
    lanes.enter(tasks(1))
    taken = take(lanes)
    lanes.put_back(back(watched(lanes)))
    assert members(take(lanes)) == members(taken)
    lanes.put_back(back(taken))
    assert members(take(lanes)) == []


def test_no_more_are_named_than_asked_and_the_earliest_first(hot):
    lanes, waiting = hot.lanes(lease=BEFORE), tasks(5)
    lanes.enter(waiting)
    came = [one for _ in range(5) for one in members(take(lanes))]
    seen = [one.member for _ in range(3) for one in watched(lanes, most=2).tasks]
    assert seen == came


def test_each_live_lane_is_watched(hot):
    assert [name for name, _ in hot.lanes().watch(most=10)] == list(TYPES)


def test_a_cold_lane_is_not_watched(hot):
    hot.forget_lanes()
    assert hot.lanes().watch(most=10) == []


def test_a_type_is_watched_by_itself(hot):
    lanes = hot.lanes(lease=BEFORE)
    lanes.enter([a_task(type=EMAIL)])
    take(lanes, type=EMAIL)
    seen = {name: len(answer.tasks) for name, answer in lanes.watch(most=10)}
    assert (seen[ECHO], seen[EMAIL]) == (0, 1)


def is_empty(lanes):
    """Return what a look says of the lane of each type."""
    return {name: answer.is_empty for name, answer in lanes.watch(most=10)}


def test_a_lane_is_empty_until_something_waits_in_it_and_once_all_have_left(hot):
    lanes = hot.lanes(lease=A_WHILE)
    assert is_empty(lanes) == dict.fromkeys(TYPES, True)
    lanes.enter([a_task()])
    assert is_empty(lanes) == {name: name != ECHO for name in TYPES}
    taken = take(lanes)
    assert not is_empty(lanes)[ECHO], "it is in flight"
    take(lanes, 0, leaves=leaves(taken), epoch=taken.epoch)
    assert is_empty(lanes)[ECHO]


@pytest.mark.parametrize("only", [None, ECHO])
def test_an_empty_lane_was_watched_as_well_and_names_its_epoch(hot, only):
    lanes = hot.lanes()
    taken = take(lanes, partition=0)
    assert taken.is_unwatched
    seen = dict(lanes.watch(most=1, only=only))[ECHO]
    assert (seen.is_empty, seen.epoch) == (True, taken.epoch)
    assert not take(lanes, partition=0).is_unwatched


@pytest.mark.parametrize("only", [None, ECHO])
def test_a_worker_is_asked_to_watch_until_somebody_does(hot, only):
    lanes = hot.lanes()
    assert take(lanes, partition=0).is_unwatched
    lanes.watch(most=1, only=only)
    assert not take(lanes, partition=0).is_unwatched


def test_a_worker_watches_the_lane_of_its_type_only(hot):
    lanes = hot.lanes(lease=BEFORE)
    lanes.enter([a_task(), a_task(type=EMAIL)])
    take(lanes)
    take(lanes, type=EMAIL)
    ((name, answer),) = lanes.watch(most=10, only=EMAIL)
    assert (name, len(answer.tasks)) == (EMAIL, 1)
    assert take(lanes, partition=0).is_unwatched
    hot.forget_lanes()
    assert lanes.watch(most=10, only=EMAIL) == []


def in_flight(hot, *, partition=0):
    """Return lanes in which a process of a partition has taken a task."""
    lanes = hot.lanes(lease=A_WHILE)
    lanes.enter([a_task()])
    assert len(take(lanes, partition=partition).tasks) == 1
    return lanes


def test_a_process_must_stay_while_something_is_in_flight_and_nobody_else_is_there(hot):
    lanes = in_flight(hot)
    assert take(lanes, partition=0).must_stay
    lanes.watch(most=1, only=ECHO)
    assert take(lanes, partition=0).must_stay, "no scheduler has watched"
    lanes.watch(most=1)
    assert not take(lanes, partition=0).must_stay


def test_a_process_need_not_stay_for_what_leaves_or_waits(hot):
    lanes = hot.lanes(lease=A_WHILE)
    assert not take(lanes, partition=0).must_stay
    lanes.enter(tasks(2))
    taken = take(lanes, partition=0)
    gone = take(lanes, 0, partition=0, leaves=leaves(taken), epoch=taken.epoch)
    assert not gone.must_stay


def test_of_several_processes_the_last_must_stay(hot):
    lanes = in_flight(hot, partition=1)
    assert not take(lanes, partition=0).must_stay, "another one takes, too"
    assert not take(lanes, partition=1, waits=None).must_stay
    assert take(lanes, partition=0, waits=None).must_stay
    assert take(lanes, partition=5).must_stay


def test_a_process_that_is_silent_is_not_there(hot):
    lanes = in_flight(hot, partition=1)
    hot.forget_who_takes(ECHO)
    assert take(lanes, partition=0).must_stay


def test_what_is_in_flight_in_another_lane_keeps_nobody(hot):
    lanes = in_flight(hot)
    assert not take(lanes, type=EMAIL, partition=0).must_stay


def test_a_scheduler_need_not_stay(hot):
    lanes = in_flight(hot)
    hot.forget_who_takes(ECHO)
    assert not take(lanes).must_stay


def test_a_scheduler_is_never_asked_to_watch(hot):
    assert not take(hot.lanes()).is_unwatched


def test_a_look_that_is_too_far_ahead_comes_at_once(hot):
    """It was set by a clock that has gone back since: the task would be lost for so long."""
    lanes = hot.lanes(lease=A_WHILE)
    lanes.enter(tasks(2))
    usual, ahead = take(lanes), take(lanes)
    lanes.look_later(later(ahead, HOUR))
    assert [one.member for one in watched(lanes).tasks] == members(ahead)
    assert watched(lanes).tasks == ()
    assert members(usual) != members(ahead)
