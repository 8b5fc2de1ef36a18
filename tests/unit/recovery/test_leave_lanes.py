"""What waits in lanes and on shelves moves to the topics of workers, for the version before."""

from datetime import timedelta

import pytest

from taskmill.core import codec, topics
from taskmill.core.errors import StoreUnavailable
from taskmill.core.lifetimes import LEASE
from taskmill.core.task import TaskType
from taskmill.lanes.caps import Caps
from taskmill.lanes.lane import Take
from taskmill.lanes.pauses import pause, resume
from taskmill.lanes.rules import PauseOrder, key_of
from taskmill.recovery.leave_lanes import LaneLeave, LanesNotLeft, Left
from taskmill.recovery.rebuild_lanes import LaneRebuild
from taskmill.testing.clock import MovableClock
from taskmill.testing.system import System
from taskmill.worker import serve
from tests.builders import a_claim, a_request, a_success
from tests.unit.ledger.test_refill import Anything

ECHO = TaskType("echo")
CAPS = Caps(line_tasks=10, small_tasks=5)


class Way:
    """A queue with full lines and a paused type, on its way back to the version before."""

    def __init__(self):
        self.performed = []
        worker = serve(Anything, lambda _, task: self.performed.append(task.id))
        self.system = System({"echo": worker}, clock=MovableClock(), caps=CAPS)
        self.stores = self.system.stores
        pause(PauseOrder(key=key_of(ECHO), by="ada"), self.stores)
        self.on_wait = []

    def backlog(self, count):
        ids = [self._submit() for _ in range(count)]
        self.system.run()
        return ids

    def _submit(self):
        self.system.clock.move(timedelta(milliseconds=1))
        request = a_request(None, created_at_ms=self.system.clock())
        (receipt,) = self.system.submit([request])
        return receipt.task.id

    def wait(self, span):
        self.system.clock.move(span)
        for act in self.on_wait:
            act()

    def leave(self, **others):
        stores = others.pop("stores", self.stores)
        return LaneLeave(stores, pause=self.wait).run()

    @property
    def lane(self):
        return self.stores.hot.lanes[ECHO]

    def published(self):
        """Return the ids of the tasks that a worker of the version before reads, in order."""
        values = [one.value for one in self.stores.log.records(topics.worker(ECHO))]
        tasks = [codec.open_tasks(one) for one in values if one != codec.WAKE_UP]
        return [task.id for batch in tasks for task in batch]


@pytest.fixture
def way():
    return Way()


def test_everything_that_waits_is_published_and_the_lanes_stay_closed(way):
    ids = way.backlog(30)
    assert len(way.lane.tasks) == 10
    assert way.leave() == Left(from_lanes=10, from_shelves=20)
    assert way.published() == ids
    assert (way.lane.is_open, way.lane.tasks, way.stores.rows.shelved) == (False, {}, {})


def test_repeated_it_publishes_nothing_more(way):
    ids = way.backlog(30)
    way.leave()
    assert way.leave() == Left(from_lanes=0, from_shelves=0)
    assert way.published() == ids


@pytest.mark.parametrize("port", ["bus", "shelf", "cold_lanes"])
def test_whatever_fails_everything_is_published_by_the_next_try(way, port):
    ids = way.backlog(30)
    for failing in range(1, 40):
        trial = Failing(getattr(way.stores, port), at=failing)
        stores = Stores(way.stores, port, trial)
        try:
            way.leave(stores=stores)
        except StoreUnavailable:
            continue
        break
    assert failing > 2
    assert set(way.published()) == set(ids)
    assert not way.lane.tasks


def test_a_task_in_flight_is_published_and_one_that_is_over_only_in_facts(way):
    resume(key_of(ECHO), way.stores)
    ids = [way._submit() for _ in range(2)]  # noqa: SLF001 - before its worker runs
    dispatch(way)
    taken = take(way)
    claimed = way.stores.leases.claim([a_claim(one) for one in taken])
    way.stores.leases.settle([a_success(taken[0], claimed[0].token)])
    facts = len(way.stores.log.records(topics.EVENTS))
    assert way.leave() == Left(from_lanes=1, from_shelves=0)
    assert way.published() == [taken[1].id]
    assert len(way.stores.log.records(topics.EVENTS)) > facts
    assert {one.id for one in taken} == set(ids)


def test_a_scheduler_that_runs_is_found_before_anybody_trusts_the_result(way):
    way.backlog(3)
    way.on_wait.append(lambda: rebuild(way))
    with pytest.raises(LanesNotLeft, match="lanes of echo are open or rebuilt again: stop"):
        way.leave()
    assert way.lane.is_open


def test_a_lane_that_is_not_filled_yet_is_not_left(way):
    way.backlog(3)
    way.lane.forget()
    with pytest.raises(LanesNotLeft, match="lanes of echo are cold: let a scheduler"):
        way.leave()


def test_without_a_recorder_it_gives_up_after_a_minute(way):
    way.backlog(3)
    way._submit()  # noqa: SLF001 - which nobody records
    with pytest.raises(LanesNotLeft, match="check that the recorder"):
        way.leave()
    assert not way.published()


class Failing:
    """A port whose calls fail from one on."""

    def __init__(self, port, *, at):
        self._port, self._left = port, at

    def __getattr__(self, name):
        verb = getattr(self._port, name)

        def call(*words, **others):
            self._left -= 1
            if self._left < 0:
                raise StoreUnavailable("it", "it is away")
            return verb(*words, **others)

        return call


class Stores:
    """Stores with one other port."""

    def __init__(self, stores, name, port):
        self._stores = stores
        setattr(self, name, port)

    def __getattr__(self, name):
        return getattr(self._stores, name)


def dispatch(way):
    for reader in way.system.readers:
        if reader.topic != topics.worker(ECHO):
            way.system.step(reader)


def take(way):
    answer = way.stores.lanes.take(Take(type=ECHO, most=10, partition=0))
    return [codec.open_envelope(one.raw) for one in answer.tasks]


def rebuild(way):
    stores = way.stores
    LaneRebuild(stores, nonce="other", grace=LEASE, pause=way.system.clock.move).run()
