"""Whether a worker takes is known from its lane alone."""

from datetime import timedelta

import pytest

from taskmill.core.task import Millis, TaskType
from taskmill.insight.shelves import Shelves
from taskmill.insight.types import TAKES_WITHIN, LaneState, WorkerState, states_of
from taskmill.lanes.lane import LanePause, Take
from taskmill.lanes.pauses import pause
from taskmill.lanes.rules import EVERYTHING, PauseOrder, key_of
from tests.builders import ECHO
from tests.unit.world import Away, World

MAIL = TaskType("mail")
A_WHILE = TAKES_WITHIN + timedelta(milliseconds=1)


@pytest.fixture
def world():
    return World()


def state(world, name=ECHO, **others):
    stores = world.stores(**others)
    return states_of([ECHO, MAIL], stores, Shelves(stores).count())[name]


def worker(world):
    return state(world).worker


def test_without_tasks_no_worker_is_needed(world):
    assert worker(world) is WorkerState.IDLE


def test_a_process_that_took_of_late_is_there(world):
    world.take()
    world.wait(TAKES_WITHIN - timedelta(milliseconds=1))
    assert worker(world) is WorkerState.TAKES
    world.wait(timedelta(milliseconds=1))
    assert worker(world) is WorkerState.IDLE


def test_a_worker_whose_places_are_all_taken_is_busy(world):
    world.admitted("a", "b")
    world.take(most=1)
    world.wait(A_WHILE)
    assert worker(world) is WorkerState.BUSY


def test_a_worker_that_nobody_sees_take_is_absent_after_a_while(world):
    world.admitted()
    assert worker(world) is WorkerState.IDLE
    world.wait(A_WHILE)
    assert worker(world) is WorkerState.ABSENT


def test_nobody_misses_the_worker_of_a_paused_type(world):
    world.admitted()
    world.ports.lanes.set_pauses([LanePause(type=ECHO)], revision=1)
    world.wait(A_WHILE)
    assert worker(world) is WorkerState.IDLE


def test_the_oldest_task_of_any_class_decides_how_long_something_waits(world):
    world.admitted(priority=0)
    world.wait(timedelta(seconds=2))
    world.admitted(priority=3)
    assert state(world).oldest_wait_seconds == 2
    assert state(world, MAIL).oldest_wait_seconds is None


def test_a_lane_that_is_rebuilt_is_not_called_empty(world):
    world.admitted()
    world.hot.lanes[ECHO].restart()
    found = state(world)
    assert (found.lane, found.count, found.worker) == (
        LaneState.REBUILDING,
        None,
        WorkerState.UNKNOWN,
    )
    assert found.is_noteworthy


def test_its_own_pause_and_that_of_everything_are_named(world):
    for key in (EVERYTHING, key_of(ECHO)):
        pause(PauseOrder(key=key, by="ann", reason="later"), world.ports)
    assert {one.key for one in state(world).pauses} == {EVERYTHING, key_of(ECHO)}
    assert [one.key for one in state(world, MAIL).pauses] == [EVERYTHING]


def test_a_pause_that_is_over_is_not_named(world):
    end = Millis(world.clock() + 1_000)
    pause(PauseOrder(key=key_of(ECHO), by="ann", until_ms=end), world.ports)
    assert state(world).pauses
    world.wait(timedelta(seconds=2))
    assert not state(world).pauses


def test_what_a_store_that_is_away_would_know_is_unknown(world):
    assert state(world, lanes=Away()).lane is LaneState.UNKNOWN
    found = state(world, rules=Away())
    assert (found.lane, found.pauses) == (LaneState.LIVE, None)


def test_types_are_told_apart(world):
    world.ports.lanes.take(Take(type=MAIL, most=1, partition=0))
    assert state(world, MAIL).worker is WorkerState.TAKES
    assert worker(world) is WorkerState.IDLE
