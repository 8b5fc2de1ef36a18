"""A lane of which another program overwrote a key is cold, and is rebuilt."""

import pytest

from taskmill.core.owed import Cold
from taskmill.lanes.lane import Filled, Take
from taskmill.stores.redis.keys import lane_keys
from taskmill.stores.redis.session import Session
from tests.builders import ECHO
from tests.contracts.hot import TYPES, InValkey
from tests.contracts.lane_words import A_WHILE, a_task, members_of, take, tasks, until_empty


@pytest.fixture
def hot(valkey):
    hot = InValkey(Session(valkey))
    yield hot
    hot.session.close()


def use(lanes):
    """Call so that every key of the lane is used."""
    lanes.enter(tasks(60))
    answer = lanes.take(Take(type=ECHO, most=1, partition=0, waits=A_WHILE))
    lanes.watch(most=10)
    return answer


@pytest.mark.parametrize("place", range(1, len(lane_keys(ECHO).every)))
def test_a_lane_is_cold_after_any_of_its_keys_was_overwritten(hot, place):
    lanes = hot.lanes()
    use(lanes)
    hot.session.command("SET", lane_keys(ECHO).every[place], "of another type")
    use(lanes)
    assert use(lanes) == Cold()
    assert hot.cold_lanes().cold() == [ECHO]


def test_an_overwritten_ring_makes_it_cold_as_well(hot):
    lanes = hot.lanes()
    take(lanes, partition=0, waits=A_WHILE)
    hot.session.command("SET", lane_keys(ECHO).rings(ECHO, 0), "of another type")
    use(lanes)
    assert hot.cold_lanes().cold() == [ECHO]


def test_an_overwritten_lane_is_rebuilt_without_a_trace(hot):
    lanes, task = hot.lanes(), a_task()
    lanes.enter([task])
    hot.session.command("SET", lane_keys(ECHO).every[3], "of another type")
    use(lanes)
    cold = hot.cold_lanes()
    assert cold.begin("n", [ECHO]) == [ECHO]
    assert hot.session.command("EXISTS", lane_keys(ECHO).apart) == 0
    cold.fill("n", ECHO, [Filled(envelope=task.envelope)])
    cold.open("n", TYPES)
    assert until_empty(lanes) == members_of([task])
