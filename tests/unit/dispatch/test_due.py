"""Every decision is published, even if its process died."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from taskmill.core import topics
from taskmill.core.errors import StoreUnavailable, Unpublishable
from taskmill.core.facts import TaskDeferred
from taskmill.core.owed import OwedKind
from taskmill.core.task import Timing
from taskmill.core.time import in_ms
from taskmill.dispatch.due import DuePublisher
from taskmill.dispatch.route import Dispatch
from taskmill.dispatch.waiting import PATIENCE_WITH_A_TYPE
from tests.builders import a_new_id
from tests.contracts.hot import claimed, next_turn
from tests.unit.world import Away, Instead, World


@pytest.fixture
def world():
    return World()


def owe_a_submission(world):
    """Let a gateway die after its admission."""
    request = world.request(id=a_new_id())
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


def test_the_next_turn_enters_its_lane_after_the_facts_of_the_one_before(world):
    settlement = owe_a_turn(world)
    world.wait(timedelta(seconds=2))
    world.publish_due()
    assert world.waiting()[-1] == settlement.next.owed.task
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


def test_without_the_log_of_facts_the_turn_after_them_does_not_enter(world):
    owe_a_turn(world)
    world.wait(timedelta(seconds=2))
    world.log.is_away = True
    with pytest.raises(StoreUnavailable):
        world.publish_due()
    assert [task.turn for task in world.waiting()] == [1]


def test_a_turn_whose_lane_is_cold_stays_owed_and_enters_when_it_is_open(world):
    owe_a_turn(world)
    submission = owe_a_submission(world)
    world.hot.forget_lanes()
    assert world.publish_due() == 1, "no lane is in the way of a submission"
    assert world.log.tasks(topics.PENDING)[-1] == submission
    assert [name.kind for name in world.hot.due] == [OwedKind.TURN]
    world.hot.lanes.open()
    world.let_holds_end()
    assert world.publish_due() == 1
    assert [task.turn for task in world.waiting()] == [2]
    assert not world.hot.due


def test_a_scheduler_that_dies_before_it_clears_enters_nothing_twice(world):
    owe_a_turn(world)
    world.wait(timedelta(seconds=2))
    with pytest.raises(StoreUnavailable):
        DuePublisher(world.stores(due=Instead(world.due, clear=Away().clear))).publish()
    world.let_holds_end()
    assert world.publish_due() == 1
    assert [task.turn for task in world.waiting()] == [1, 2]


def test_a_cold_shard_has_nothing_due(world):
    owe_a_submission(world)
    world.hot.restart()
    assert world.publish_due() == 0


def test_two_schedulers_publish_it_once(world):
    owe_a_submission(world)
    assert (world.publish_due(), world.publish_due()) == (1, 0)


def test_a_turn_of_a_type_without_a_worker_goes_to_those_who_wait_for_one(world):
    settlement = owe_a_turn(world)
    world.wait(timedelta(seconds=2))
    DuePublisher(world.stores(catalogue=KnowsNone())).publish()
    until = world.now + in_ms(PATIENCE_WITH_A_TYPE)
    parked = replace(settlement.next.owed.task, parked_until_ms=until)
    assert world.log.tasks(topics.PENDING)[-1] == parked
    assert [task.turn for task in world.waiting()] == [1]


def test_a_delayed_task_without_a_worker_is_parked_at_its_time_and_never_delayed_anew(world):
    stores = {"catalogue": KnowsNone()}
    world.submit(world.request(timing=Timing(delay_ms=1000)))
    world.dispatch(**stores)
    world.wait(timedelta(seconds=2))
    DuePublisher(world.stores(**stores)).publish()
    *_, again = world.log.records(topics.PENDING)
    assert Dispatch(world.stores(**stores)).route([again], world.run_context()) == set()
    assert [name.kind for name in world.hot.due] == [OwedKind.PARKED]


def test_what_the_log_refuses_for_good_stays_owed_and_stops_nobody_else(world, caplog):
    tasks = [owe_a_submission(world) for _ in range(3)]
    refusing = Refuses(world.log, tasks[1].id)
    assert DuePublisher(world.stores(bus=refusing)).publish() == 2
    assert [one.id for one in world.log.tasks(topics.PENDING)] == [tasks[0].id, tasks[2].id]
    assert [name.id for name in world.hot.due] == [tasks[1].id]
    assert [(one.message, one.task_id) for one in caplog.records] == [
        ("due entry rejected by the log", tasks[1].id)
    ]


class KnowsNone:
    """A catalogue in which no type is deployed."""

    def entry(self, _name):
        return None


class Refuses:
    """A log that always refuses one task and accepts everything else."""

    def __init__(self, log, task_id):
        self._log = log
        self._task_id = task_id

    def send_pending(self, envelopes):
        if any(one.envelope.id == self._task_id for one in envelopes):
            raise Unpublishable("Kafka", "the record is larger than the topic allows")
        self._log.send_pending(envelopes)

    def __getattr__(self, verb):
        return getattr(self._log, verb)
