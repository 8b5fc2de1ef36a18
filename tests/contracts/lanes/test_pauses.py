"""A paused type keeps what waits, and gives nothing to workers."""

from taskmill.core.owed import Cold
from taskmill.core.task import Millis
from taskmill.lanes.lane import Alone, LanePause, Take
from tests.builders import ECHO, now_ms
from tests.contracts.lane_words import (
    EMAIL,
    a_task,
    back,
    members,
    members_of,
    take,
    tasks,
    until_empty,
)
from tests.waiting import eventually

OF_ECHO = LanePause(type=ECHO)
OF_ALL = LanePause(type=None)


def test_nothing_of_a_paused_type_is_taken(hot):
    lanes, email = hot.lanes(), a_task(type=EMAIL)
    lanes.enter([*tasks(2), email])
    lanes.set_pauses([OF_ECHO], revision=1)
    assert members(take(lanes, 10)) == []
    assert until_empty(lanes, type=EMAIL) == members_of([email])


def test_a_pause_of_everything_holds_each_type(hot):
    lanes = hot.lanes()
    lanes.enter([a_task(), a_task(type=EMAIL)])
    lanes.set_pauses([OF_ALL], revision=1)
    assert members(take(lanes, 10)) + members(take(lanes, 10, type=EMAIL)) == []


def test_what_must_run_alone_is_paused_as_well(hot):
    lanes = hot.lanes()
    lanes.enter(tasks(1))
    lanes.put_back(back(take(lanes), alone=True))
    lanes.set_pauses([OF_ECHO], revision=1)
    assert members(take(lanes, 1, alone=Alone.FIRST)) == []


def test_what_waits_keeps_its_place_over_a_pause(hot):
    lanes, waiting = hot.lanes(), tasks(4)
    lanes.enter(waiting[2:])
    lanes.set_pauses([OF_ECHO], revision=1)
    lanes.enter(waiting[:2])
    lanes.set_pauses([], revision=2)
    assert until_empty(lanes) == members_of(waiting)


def test_what_runs_may_leave_and_come_back_during_a_pause(hot):
    lanes, waiting = hot.lanes(), tasks(2)
    lanes.enter(waiting)
    taken = take(lanes)
    lanes.set_pauses([OF_ECHO], revision=1)
    lanes.put_back(back(taken))
    assert members(take(lanes, 10)) == []
    lanes.set_pauses([], revision=2)
    assert until_empty(lanes) == members_of(waiting)


def test_a_pause_ends_at_its_time(hot):
    lanes, waiting = hot.lanes(), tasks(1)
    lanes.enter(waiting)
    lanes.set_pauses([LanePause(type=ECHO, until_ms=Millis(now_ms() + 100))], revision=1)
    assert members(take(lanes)) == []
    eventually(lambda: members(take(lanes)), within=10, reason="the pause ends")


def test_a_pause_that_has_ended_holds_nothing(hot):
    lanes, waiting = hot.lanes(), tasks(1)
    lanes.enter(waiting)
    lanes.set_pauses([LanePause(type=ECHO, until_ms=Millis(now_ms() - 1))], revision=1)
    assert until_empty(lanes) == members_of(waiting)


def test_older_pauses_change_nothing(hot):
    lanes = hot.lanes()
    lanes.enter(tasks(1))
    lanes.set_pauses([OF_ECHO], revision=2)
    lanes.set_pauses([], revision=1)
    assert members(take(lanes)) == []


def test_a_cold_lane_has_no_pauses(hot):
    hot.forget_lanes()
    assert list(hot.lanes().set_pauses([OF_ECHO], revision=1)) == []
    assert hot.lanes().take(Take(type=ECHO, most=1)) == Cold()


def test_a_lane_can_be_paused_before_its_rebuild_ends(hot):
    lanes, cold = hot.lanes(), hot.cold_lanes()
    hot.forget_lanes()
    cold.begin("n", [ECHO])
    lanes.set_pauses([OF_ECHO], revision=1)
    cold.open("n", [ECHO])
    lanes.enter(tasks(1))
    assert members(take(lanes)) == []


def test_a_resumed_type_is_woken(hot):
    lanes = hot.lanes()
    lanes.set_pauses([OF_ECHO], revision=1)
    assert lanes.enter(tasks(1)).wake == ()
    (woken,) = lanes.set_pauses([], revision=2)
    assert woken.type == ECHO
