"""A task enters its lane once, whoever says so and how often."""

from taskmill.core.task import Priority
from taskmill.lanes.lane import Entered
from tests.builders import ECHO
from tests.contracts.lane_words import (
    EMAIL,
    a_task,
    leaves,
    members,
    members_of,
    take,
    tasks,
    until_empty,
)


def test_what_enters_waits(hot):
    waiting = tasks(3)
    assert hot.lanes().enter(waiting).answers == (Entered.WAITS,) * 3
    assert until_empty(hot.lanes()) == members_of(waiting)


def test_the_bytes_come_as_they_went_in(hot):
    task = a_task(fairness_key="Käse ☃", tenant="A b")
    hot.lanes().enter([task])
    assert [one.raw for one in take(hot.lanes()).tasks] == [task.raw]


def test_what_waits_enters_no_second_time(hot):
    lanes, task = hot.lanes(), a_task()
    lanes.enter([task, task])
    assert lanes.enter([task]).answers == (Entered.WAITS,)
    assert until_empty(lanes) == members_of([task])


def test_what_is_in_flight_enters_no_second_time(hot):
    lanes, task = hot.lanes(), a_task()
    lanes.enter([task])
    take(lanes)
    assert lanes.enter([task]).answers == (Entered.WAITS,)
    assert until_empty(lanes) == []


def test_what_has_left_may_enter_again(hot):
    lanes, task = hot.lanes(), a_task()
    lanes.enter([task])
    lanes.leave(ECHO, leaves(take(lanes)))
    lanes.enter([task])
    assert until_empty(lanes) == members_of([task])


def test_another_turn_is_another_member(hot):
    lanes, first = hot.lanes(), a_task()
    second = a_task(id=first.envelope.id, turn=2)
    lanes.enter([first, second])
    assert sorted(until_empty(lanes)) == sorted(members_of([first, second]))


def test_each_type_has_a_lane_of_its_own(hot):
    lanes, echo, email = hot.lanes(), a_task(), a_task(type=EMAIL)
    lanes.enter([echo, email])
    assert until_empty(lanes) == members_of([echo])
    assert until_empty(lanes, type=EMAIL) == members_of([email])


def test_a_cold_lane_refuses_its_tasks_and_no_others(hot):
    hot.forget_lanes()
    cold = hot.cold_lanes()
    cold.begin("n", [EMAIL])
    cold.open("n", [EMAIL])
    answers = hot.lanes().enter([a_task(), a_task(type=EMAIL), a_task()]).answers
    assert answers == (Entered.COLD, Entered.WAITS, Entered.COLD)


def test_shards_are_lost_without_lanes(hot):
    task = a_task()
    hot.lanes().enter([task])
    hot.forget_shards()
    assert hot.cold_shards().are_some()
    assert until_empty(hot.lanes()) == members_of([task])


def test_lanes_are_lost_without_shards(hot):
    hot.forget_lanes()
    assert hot.lanes().enter([a_task()]).answers == (Entered.COLD,)
    assert not hot.cold_shards().are_some()


def test_more_tasks_than_one_call_can_carry(hot):
    lanes, waiting = hot.lanes(), tasks(1_200)
    assert set(lanes.enter(waiting).answers) == {Entered.WAITS}
    assert until_empty(lanes, 100) == members_of(waiting)


def test_a_priority_decides_on_the_line(hot):
    lanes, low, high = hot.lanes(), a_task(priority=Priority.LOW), a_task(priority=Priority.HIGH)
    lanes.enter([low, high])
    assert members(take(lanes, 2)) == members_of([high, low])
