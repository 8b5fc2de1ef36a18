"""What was settled leaves its lane only when the log has its facts."""

import pytest

from taskmill.execution.settle import Settler
from taskmill.lanes.lane import Leave, member_of
from tests.builders import succeeded
from tests.unit.world import World


@pytest.fixture
def world():
    return World()


def test_facts_that_another_failure_lost_are_sent_again(world):
    """A wake-up that cannot be sent ends the producer, and nobody hears of that."""
    (task,) = world.admitted()
    fact, leave = succeeded(task), Leave(member_of(task), "1")
    settler = Settler(world.run_context())
    settler.add([fact], [leave])
    settler.publish(at_once=True)
    world.log.drop()
    assert settler.confirm(may_wait=False) == []
    world.pass_time(seconds=1)
    settler.publish(at_once=True)
    assert settler.confirm(may_wait=False) == [leave]
    assert world.log.facts() == [fact]


def test_a_failure_of_long_ago_is_none(world):
    (task,) = world.admitted()
    world.log.drop()
    settler = Settler(world.run_context())
    settler.add([succeeded(task)], [Leave(member_of(task), "1")])
    settler.publish(at_once=True)
    assert settler.confirm(may_wait=False) != []
