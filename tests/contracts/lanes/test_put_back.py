"""What nobody runs goes back to its place, if it is in flight as it was seen."""

from datetime import timedelta

from taskmill.core.task import Priority
from taskmill.lanes.lane import Alone
from tests.builders import ECHO
from tests.contracts.lane_words import (
    A_WHILE,
    BEFORE,
    EMAIL,
    a_task,
    back,
    later,
    leaves,
    members,
    members_of,
    take,
    tasks,
    until_empty,
)


def test_it_keeps_its_place(hot):
    lanes, waiting = hot.lanes(), tasks(4)
    lanes.enter(waiting)
    lanes.put_back(back(take(lanes, 2)))
    assert until_empty(lanes) == members_of(waiting)


def test_only_the_look_that_was_seen_counts(hot):
    lanes = hot.lanes()
    lanes.enter(tasks(1))
    first = take(lanes)
    lanes.put_back(back(first))
    second = take(lanes)
    lanes.put_back(back(first))
    assert members(take(lanes)) == []
    lanes.put_back(back(second))
    assert members(take(lanes)) == members(first)


def test_what_has_left_does_not_come_back(hot):
    lanes = hot.lanes()
    lanes.enter(tasks(1))
    taken = take(lanes)
    lanes.leave(ECHO, leaves(taken))
    lanes.put_back(back(taken))
    assert hot.lane_content(ECHO) == set()


def test_it_comes_back_once(hot):
    lanes, task = hot.lanes(), a_task()
    lanes.enter([task])
    taken = take(lanes)
    lanes.put_back([*back(taken), *back(taken)])
    assert until_empty(lanes) == members_of([task])


def test_it_stays_alone_when_it_comes_back_again(hot):
    lanes = hot.lanes()
    lanes.enter(tasks(1))
    lanes.put_back(back(take(lanes), alone=True))
    lanes.put_back(back(take(lanes, alone=Alone.FIRST), alone=True))
    lanes.put_back(back(take(lanes, alone=Alone.FIRST)))
    assert members(take(lanes)) == []
    assert len(members(take(lanes, alone=Alone.FIRST))) == 1


def test_tasks_of_several_types_come_back_together(hot):
    lanes, echo, email = hot.lanes(), a_task(), a_task(type=EMAIL, priority=Priority.LOW)
    lanes.enter([echo, email])
    taken = [*back(take(lanes)), *back(take(lanes, type=EMAIL), type=EMAIL)]
    lanes.put_back(taken)
    assert until_empty(lanes) == members_of([echo])
    assert until_empty(lanes, type=EMAIL) == members_of([email])


def test_a_cold_lane_takes_nothing_back(hot):
    lanes = hot.lanes()
    lanes.enter(tasks(1))
    taken = take(lanes)
    hot.become_another_server()
    assert list(lanes.put_back(back(taken))) == []


def test_a_later_look_is_a_new_one(hot):
    lanes = hot.lanes(lease=BEFORE)
    lanes.enter(tasks(1))
    taken = take(lanes)
    lanes.look_later(later(taken, A_WHILE))
    lanes.put_back(back(taken))
    assert members(take(lanes)) == []
    assert lanes.watch(most=10)[0][1].tasks == ()


def test_an_earlier_look_comes_earlier(hot):
    lanes = hot.lanes(lease=A_WHILE)
    lanes.enter(tasks(1))
    taken = take(lanes)
    lanes.look_later(later(taken, timedelta(seconds=-1)))
    (seen,) = dict(lanes.watch(most=10))[ECHO].tasks
    assert seen.member == members(taken)[0]


def test_a_look_is_not_moved_by_one_who_saw_an_older_one(hot):
    lanes = hot.lanes(lease=A_WHILE)
    lanes.enter(tasks(1))
    first = take(lanes)
    lanes.put_back(back(first))
    take(lanes)
    lanes.look_later(later(first, BEFORE))
    assert dict(lanes.watch(most=10))[ECHO].tasks == ()
