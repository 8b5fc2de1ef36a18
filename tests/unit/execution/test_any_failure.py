"""Whatever the stores refuse, a worker neither spins nor hangs, and every task ends."""

import random

import pytest

from taskmill.core.errors import StoreUnavailable
from taskmill.core.facts import TaskSucceeded
from tests.unit.world import Instead, World

TASKS = 12
CALLS = {
    "lanes": ("take", "put_back"),
    "leases": ("claim", "extend", "settle"),
    "bus": ("flush", "send_wake_ups"),
}


class Failing:
    """Ports of which each call fails by chance: before it has an effect, or after."""

    def __init__(self, world, seed):
        self.chance = random.Random(seed)
        self.calls = 0
        self.ports = {
            name: Instead(port, **{verb: self._failing(port, verb) for verb in CALLS[name]})
            for name, port in {
                "lanes": world.ports.lanes,
                "leases": world.leases,
                "bus": world.log,
            }.items()
        }

    def _failing(self, port, verb):
        def call(*asked):
            self.calls += 1
            moment = self.chance.random()
            if moment < 0.2:
                raise StoreUnavailable("a store", "it was not reached")
            answer = getattr(port, verb)(*asked)
            if moment > 0.8:
                raise StoreUnavailable("a store", "its answer was lost")
            return answer

        return call


@pytest.fixture(autouse=True)
def _quiet(caplog):
    caplog.set_level("CRITICAL", logger="taskmill")


@pytest.mark.parametrize("seed", range(40))
def test_whatever_fails_a_worker_ends_and_so_does_every_task(seed):
    world = World()
    tasks = world.admitted(*[None] * TASKS)
    for _ in range(4):
        failing, began = Failing(world, seed), world.now
        world.work(concurrency=3, **failing.ports)
        seconds = (world.now - began) / 1000
        assert seconds < 60
        assert failing.calls < 100 + 200 * seconds, "it spins"
        world.pass_time(seconds=11)
        world.watch()
    world.work()
    ends = {(fact.id, fact.token) for fact in world.log.facts() if isinstance(fact, TaskSucceeded)}
    assert sorted(task_id for task_id, _ in ends) == sorted(task.id for task in tasks)
    assert world.waiting() == []
