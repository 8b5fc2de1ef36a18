"""A task that lost its worker is a suspect: it runs alone, and never again after three losses."""

from collections import deque

import pytest

from taskmill.core.facts import AttemptLost, TaskDied, TaskSucceeded
from tests.unit.world import World, die_with


@pytest.fixture
def world():
    return World()


def test_suspects_are_performed_alone_and_last(world):
    first, second, good = world.admitted(None, None, None)
    for task in (first, second):
        die_with(world, task)
    alone = deque()

    class Watching:
        extend, settle = world.leases.extend, world.leases.settle

        def claim(self, claims):
            alone.extend((len(claims), claim.alone) for claim in claims)
            return world.leases.claim(claims)

    assert world.work(leases=Watching()) == set()
    assert world.performed == [good.id, first.id, second.id]
    assert list(alone) == [(3, False)] * 3 + [(1, True)] * 2


def test_the_suspect_with_the_fewest_losses_is_performed_first(world):
    killer, beside = world.admitted(None, None)
    die_with(world, killer, times=2)
    die_with(world, beside)
    world.work()
    assert world.performed == [beside.id, killer.id]


def test_a_take_over_tells_of_the_loss_before_the_end(world):
    (task,) = world.admitted()
    die_with(world, task)
    world.work()
    lost, succeeded = world.log.facts()
    assert (type(lost), lost.losses) == (AttemptLost, 1)
    assert (type(succeeded), succeeded.losses) == (TaskSucceeded, 1)
    assert lost.token < succeeded.token


def test_a_second_take_over_tells_of_both_losses(world):
    (task,) = world.admitted()
    die_with(world, task, times=2)
    world.work()
    first, second, end = world.log.facts()
    assert [(type(fact), fact.losses) for fact in (first, second, end)] == [
        (AttemptLost, 1),
        (AttemptLost, 2),
        (TaskSucceeded, 2),
    ]
    assert first.token < second.token < end.token
    assert first.started_at_ms < first.at_ms <= second.started_at_ms < second.at_ms


def test_after_three_losses_a_task_is_poison_and_is_not_performed(world):
    (task,) = world.admitted()
    die_with(world, task, times=3)
    assert world.work() == set()
    fact = world.log.facts()[-1]
    assert (type(fact), fact.reason, fact.losses) == (TaskDied, "poison", 3)
    assert world.performed == []


def test_after_two_losses_a_task_gets_its_chance(world):
    (task,) = world.admitted()
    die_with(world, task, times=2)
    world.work()
    assert world.performed == [task.id]
