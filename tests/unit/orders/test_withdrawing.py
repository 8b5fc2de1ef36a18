"""What an order ended or replaced leaves its line, and nothing else does."""

from datetime import timedelta

import pytest

from taskmill.core.task import Priority, Status, Timing
from taskmill.lanes.lane import member_of
from taskmill.orders.cancel import Asked, CancelAccepted, Canceller
from taskmill.orders.change import ChangeAccepted, Changer, WantedChange
from taskmill.orders.expire import Expiration
from taskmill.stores.memory.orders import MemoryControl
from tests.builders import ECHO, a_claim
from tests.unit.world import Away, Instead, World


@pytest.fixture
def world():
    return World()


def cancel(world, task, **others):
    return Canceller(world.stores(**others), world.find).cancel(task.id)


def change(world, task, **others):
    wanted = WantedChange(priority=Priority.HIGH)
    return Changer(world.stores(**others), world.find).change(task.id, wanted)


def expire(world, **others):
    return Expiration(world.stores(**others)).run()


def members(world):
    return set(world.hot.lanes[ECHO].tasks)


def expiring(world, *keys):
    end = world.clock() + 1_000
    tasks = world.admitted(*keys, timing=Timing(expires_at_ms=end))
    world.record()
    world.wait(timedelta(seconds=2))
    return tasks


def test_a_cancelled_task_leaves_its_line_and_others_stay(world):
    first, second = world.admitted("a", "b")
    assert isinstance(cancel(world, first), CancelAccepted)
    assert members(world) == {member_of(second)}


def test_the_old_turn_of_a_changed_task_leaves_its_line(world):
    (task,) = world.admitted()
    world.record()
    assert isinstance(change(world, task), ChangeAccepted)
    assert members(world) == set()
    world.publish_due()
    assert [one.turn for one in members(world)] == [task.turn + 1]


def test_expired_tasks_leave_their_line(world):
    expiring(world, "a", "b")
    (fresh,) = world.admitted()
    assert expire(world) == 2
    assert members(world) == {member_of(fresh)}


def test_a_task_that_was_taken_stays_in_flight(world):
    (task,) = world.admitted()
    world.take()
    assert isinstance(cancel(world, task), CancelAccepted)
    assert members(world) == {member_of(task)}


def test_nobody_asks_the_lane_about_a_task_that_runs(world):
    (task,) = world.admitted()
    world.take()
    world.leases.claim([a_claim(task)])
    deadly = Instead(world.ports.lanes, epochs=lambda *_: 1 / 0, withdraw=lambda *_: 1 / 0)
    assert isinstance(cancel(world, task, lanes=deadly), Asked)


def test_nobody_asks_the_lane_about_a_task_whose_time_is_ahead(world):
    (task,) = world.admitted()
    world.record()
    wanted = WantedChange(delay_ms=60_000)
    Changer(world.stores(), world.find).change(task.id, wanted)
    deadly = Instead(world.ports.lanes, epochs=lambda *_: 1 / 0, withdraw=lambda *_: 1 / 0)
    assert isinstance(cancel(world, task, lanes=deadly), CancelAccepted)


@pytest.mark.parametrize("order", [cancel, change])
def test_nothing_is_withdrawn_when_the_lane_was_rebuilt_meanwhile(world, order):
    (task,) = world.admitted()
    world.record()
    control = Rebuilding(world)
    order(world, task, control=control)
    assert world.status(task) in {Status.CANCELLED, Status.SCHEDULED}
    assert members(world) == {member_of(task)}


def test_expired_tasks_are_not_withdrawn_when_the_lane_was_rebuilt_meanwhile(world):
    (task,) = expiring(world, "a")
    assert expire(world, control=Rebuilding(world)) == 1
    assert members(world) == {member_of(task)}


@pytest.mark.parametrize("order", [cancel, change])
def test_an_order_is_done_while_the_lane_is_away(world, order):
    (task,) = world.admitted()
    world.record()
    assert isinstance(order(world, task, lanes=Away()), CancelAccepted | ChangeAccepted)


def test_a_task_is_withdrawn_only_after_the_log_has_its_end(world):
    (task,) = world.admitted()
    world.log.is_away = True
    cancel(world, task)
    assert members(world) == {member_of(task)}


class Rebuilding(MemoryControl):
    """Its orders come just before every lane gets a new epoch."""

    def __init__(self, world):
        super().__init__(world.hot)
        self._lane = world.hot.lanes[ECHO]

    def cancel(self, orders):
        self._lane.renew_epoch()
        return super().cancel(orders)

    def change(self, orders):
        self._lane.renew_epoch()
        return super().change(orders)
