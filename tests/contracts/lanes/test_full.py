"""A lane in a Redis without memory drains: what waits is taken, what has ended leaves."""

import pytest

from taskmill.core.errors import StoreFull
from taskmill.lanes.lane import Filled, LanePause
from taskmill.stores.redis.session import Session
from tests.builders import ECHO
from tests.contracts.hot import TYPES, InValkey
from tests.contracts.lane_words import (
    A_WHILE,
    BEFORE,
    back,
    later,
    leaves,
    members,
    members_of,
    take,
    tasks,
    until_empty,
)


@pytest.fixture
def hot(valkey):
    hot = InValkey(Session(valkey))
    yield hot
    hot.session.command("CONFIG", "SET", "maxmemory", 0)
    hot.session.close()


def fill_up(hot):
    hot.session.command("CONFIG", "SET", "maxmemory", 1)


def test_what_waits_is_taken_put_back_and_leaves(hot):
    lanes, waiting = hot.lanes(lease=BEFORE), tasks(20)
    lanes.enter(waiting)
    fill_up(hot)
    taken = take(lanes, 5, partition=0, waits=A_WHILE)
    lanes.put_back(back(taken))
    taken = take(lanes, 5, partition=0)
    lanes.look_later(later(taken, BEFORE))
    assert [one.member for one in dict(lanes.watch(most=5))[ECHO].tasks] == members(taken)
    lanes.leave(ECHO, leaves(taken))
    assert until_empty(lanes, 10) == members_of(waiting[5:])


def test_what_waits_is_withdrawn_and_paused(hot):
    lanes, waiting = hot.lanes(), tasks(2)
    lanes.enter(waiting)
    (epoch,) = lanes.epochs([ECHO])
    fill_up(hot)
    assert lanes.withdraw(ECHO, members_of(waiting[:1]), epoch=epoch) == 1
    lanes.set_pauses([LanePause(type=ECHO)], revision=1)
    assert members(take(lanes, 2)) == []


def test_a_lost_lane_is_rebuilt(hot):
    hot.forget_lanes()
    fill_up(hot)
    cold, (task,) = hot.cold_lanes(), tasks(1)
    cold.begin("n", TYPES)
    cold.keep("n", TYPES)
    assert cold.fill("n", ECHO, [Filled(envelope=task.envelope)])
    assert cold.open("n", TYPES) == list(TYPES)
    cold.renew_epochs()
    assert until_empty(hot.lanes()) == members_of([task])


def test_nothing_new_enters_until_there_is_memory(hot):
    """Callers shelve it meanwhile."""
    lanes, task = hot.lanes(), tasks(1)
    fill_up(hot)
    with pytest.raises(StoreFull):
        lanes.enter(task)
    with pytest.raises(StoreFull):
        lanes.bring_in(task)
