"""What passes a lane is counted by type."""

import pytest

from taskmill.core.counting import Count
from taskmill.core.owed import Cold
from taskmill.lanes.lane import LanePause, Take
from taskmill.stores.memory.hot import MemoryHot
from taskmill.stores.memory.process import MemoryCounters
from taskmill.stores.watch import Watch
from tests.builders import ECHO, now_ms
from tests.contracts.hot import InMemory
from tests.contracts.lane_words import EMAIL, a_task, back, leaves, take, tasks


@pytest.fixture
def counters():
    return MemoryCounters({"echo", "email"})


@pytest.fixture
def hot():
    return InMemory(MemoryHot(now_ms))


@pytest.fixture
def lanes(hot, counters):
    return Watch(counters).over("lanes", hot.lanes(), opener="a test")


def test_what_enters_is_counted_by_answer(lanes, hot, counters):
    lanes.enter([*tasks(3), a_task(type=EMAIL)])
    hot.forget_lanes()
    lanes.enter(tasks(2))
    assert counters.total(Count.ENTERED, type=ECHO, answer="waits") == 3
    assert counters.total(Count.ENTERED, type=EMAIL, answer="waits") == 1
    assert counters.total(Count.ENTERED, type=ECHO, answer="cold") == 2


def test_what_is_taken_and_leaves_is_counted(lanes, counters):
    lanes.enter(tasks(5))
    first, second = take(lanes, 3), take(lanes, 2)
    take(lanes, 0, leaves=leaves(first), epoch=first.epoch)
    lanes.leave(ECHO, leaves(second))
    assert counters.total(Count.TAKEN, type=ECHO) == 5
    assert counters.total(Count.LEFT, type=ECHO) == 5


def test_what_comes_back_is_counted(lanes, counters):
    lanes.enter(tasks(2))
    lanes.put_back(back(take(lanes, 2)))
    assert counters.total(Count.PUT_BACK, type=ECHO) == 2


def test_a_cold_lane_counts_nothing(lanes, hot, counters):
    hot.forget_lanes()
    assert lanes.take(Take(type=ECHO, most=1)) == Cold()
    assert counters.total(Count.TAKEN) == 0


@pytest.mark.parametrize("of", ["enter", "take", "put_back", "watch", "set_pauses"])
def test_each_wake_up_is_counted(of, lanes, hot, counters):
    lanes.enter(tasks(20))
    taken = take(lanes)
    before = counters.total(Count.WAKE_UPS, type=ECHO)
    assert before == 3
    hot.forget_who_takes(ECHO)
    calls = {
        "enter": lambda: lanes.enter(tasks(1)),
        "take": lambda: take(lanes),
        "put_back": lambda: lanes.put_back(back(taken)),
        "watch": lambda: lanes.watch(most=1),
        "set_pauses": lambda: lanes.set_pauses([LanePause(type=EMAIL)], revision=1),
    }
    calls[of]()
    assert counters.total(Count.WAKE_UPS, type=ECHO) == before + 3
