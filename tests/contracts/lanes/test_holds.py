"""A lane knows which tasks it holds, in line or in flight."""

from tests.builders import ECHO
from tests.contracts.lane_words import EMAIL, a_task, leaves, members_of, take, tasks


def holds(lanes, waiting):
    return list(lanes.holds([(ECHO, one) for one in members_of(waiting)]))


def test_what_waits_and_what_is_in_flight_is_held(hot):
    lanes, waiting = hot.lanes(), tasks(3)
    lanes.enter(waiting[:2])
    take(lanes)
    assert holds(lanes, waiting) == [True, True, False]


def test_what_left_or_was_withdrawn_is_not_held(hot):
    lanes, waiting = hot.lanes(), tasks(2)
    lanes.enter(waiting)
    taken = take(lanes)
    lanes.leave(ECHO, leaves(taken))
    lanes.withdraw(ECHO, members_of(waiting[1:]), epoch=taken.epoch)
    assert holds(lanes, waiting) == [False, False]


def test_each_type_is_asked_in_its_own_lane_and_answers_keep_their_order(hot):
    lanes = hot.lanes()
    email, other = a_task(type=EMAIL), a_task()
    lanes.enter([email, other])
    (mail,), (echo,) = members_of([email]), members_of([other])
    asked = [(EMAIL, mail), (ECHO, mail), (EMAIL, echo), (ECHO, echo)]
    assert list(lanes.holds(asked)) == [True, False, False, True]


def test_a_cold_lane_knows_nothing(hot):
    lanes, waiting = hot.lanes(), tasks(2)
    lanes.enter(waiting)
    hot.become_another_server()
    assert holds(lanes, waiting) == [None, None]


def test_more_are_asked_about_than_one_call_can_carry(hot):
    lanes, waiting = hot.lanes(), tasks(1_100)
    lanes.enter(waiting[:-1])
    assert holds(lanes, waiting) == [True] * 1_099 + [False]


def test_nothing_is_asked_about_nothing(hot):
    assert list(hot.lanes().holds([])) == []
