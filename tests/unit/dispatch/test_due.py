"""What was decided is published, whoever died before."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from taskmill.core import topics
from taskmill.core.errors import StoreUnavailable
from taskmill.core.facts import TaskDeferred
from tests.contracts.hot import claimed, next_turn
from tests.unit.world import World


@pytest.fixture
def world():
    return World()


def owe_a_submission(world):
    """Let a gateway die behind its admission."""
    request = world.request()
    world.admission.admit([request])
    world.let_holds_end()
    return replace(request, generation=world.now - 5001)


def owe_a_turn(world):
    (task,) = world.admitted()
    token = claimed(world.leases, task).token
    settlement = next_turn(task, token, due_at_ms=world.now + 1000)
    world.leases.settle([settlement])
    return settlement


def test_what_a_dead_gateway_owed_is_published(world):
    task = owe_a_submission(world)
    assert world.publish_due() == 1
    assert world.log.tasks(topics.PENDING) == [task]
    assert not world.hot.due


def test_nothing_is_published_before_its_time(world):
    owe_a_turn(world)
    assert world.publish_due() == 0
    world.wait(timedelta(milliseconds=1000))
    assert world.publish_due() == 1


def test_the_next_turn_goes_to_its_worker_behind_the_facts_of_the_one_before(world):
    settlement = owe_a_turn(world)
    world.wait(timedelta(seconds=2))
    world.publish_due()
    assert world.log.tasks("tasks.worker.echo")[-1] == settlement.next.owed.task
    assert [type(fact) for fact in world.log.facts()] == [TaskDeferred]


def test_without_the_log_it_stays_owed_and_is_taken_when_the_hold_ends(world):
    owe_a_submission(world)
    world.log.is_away = True
    with pytest.raises(StoreUnavailable):
        world.publish_due()
    assert len(world.hot.due) == 1
    world.log.is_away = False
    assert world.publish_due() == 0
    world.let_holds_end()
    assert world.publish_due() == 1


def test_without_the_log_of_facts_the_turn_behind_them_is_not_published(world):
    owe_a_turn(world)
    world.wait(timedelta(seconds=2))
    published = len(world.log.tasks("tasks.worker.echo"))
    world.log.is_away = True
    with pytest.raises(StoreUnavailable):
        world.publish_due()
    assert len(world.log.tasks("tasks.worker.echo")) == published


def test_a_cold_shard_has_nothing_due(world):
    owe_a_submission(world)
    world.hot.restart()
    assert world.publish_due() == 0


def test_two_schedulers_publish_it_once(world):
    owe_a_submission(world)
    assert (world.publish_due(), world.publish_due()) == (1, 0)
