"""A cold lane makes its own tasks wait, and nobody else's."""

from types import SimpleNamespace

import pytest

from taskmill.core import topics
from taskmill.core.owed import OwedKind
from tests.builders import a_claim, a_position
from tests.contracts.hot import next_turn
from tests.unit.world import World


class KnowsTwo:
    """A catalogue with two types."""

    def entry(self, name):
        return SimpleNamespace(name=name, partitions=1) if name in {"echo", "sleep"} else None

    def entries(self):
        return [self.entry("echo"), self.entry("sleep")]


@pytest.fixture
def world():
    return World(catalogue=KnowsTwo())


def ids(tasks):
    return [task.id for task in tasks]


def test_the_dispatcher_tries_its_tasks_again_and_enters_all_others(world):
    echo, sleep = world.request(), world.request(type="sleep")
    world.submit(echo)
    world.submit(sleep)
    world.hot.lanes["echo"].restart()
    assert world.dispatch() == {a_position(0, topic=topics.PENDING)}
    assert (world.waiting(), ids(world.waiting("sleep"))) == ([], [sleep.id])
    world.hot.lanes["echo"].open()
    assert world.dispatch() == set()
    assert ids(world.waiting()) == [echo.id]


def test_a_task_admitted_by_the_dispatcher_is_tried_again_as_admitted(world):
    world.hot.restart()
    (receipt,) = world.submit(world.request("k"))
    world.hot.open()
    assert receipt.is_deferred
    assert world.dispatch() == {a_position(0, topic=topics.PENDING)}
    world.hot.lanes.open()
    assert world.dispatch() == set()
    assert ids(world.waiting()) == [receipt.task.id]
    assert len({fact.generation for fact in world.log.facts()}) == 1


def test_its_due_turns_stay_owed_and_all_others_are_entered(world):
    tasks = [world.request(type=one) for one in ("echo", "sleep")]
    world.submit(*tasks)
    world.dispatch()
    following = [retried(world, task) for one in tasks for task in world.waiting(one.type)]
    world.hot.lanes["echo"].restart()
    world.let_holds_end()
    world.publish_due()
    assert owed(world) == [tasks[0].id]
    assert world.waiting("sleep")[-1] == following[1]
    world.hot.lanes["echo"].open()
    world.let_holds_end()
    world.publish_due()
    assert owed(world) == []
    assert world.waiting()[-1] == following[0]


def retried(world, task):
    """Let *task* be retried at once; return its next turn."""
    (claimed,) = world.leases.claim([a_claim(task)])
    settlement = next_turn(task, claimed.token, due_at_ms=world.now)
    world.leases.settle([settlement])
    return settlement.next.owed.task


def owed(world):
    return [name.id for name in world.hot.due if name.kind is OwedKind.TURN]
