"""A ring of the lane ends the wait of its process, as long as the process listens."""

import logging
from queue import Empty, Queue
from threading import Event

import pytest

from taskmill.core.errors import StoreUnavailable
from taskmill.core.task import TaskType
from taskmill.platform.bell import RingBell
from taskmill.stores.memory.process import InlineExecutor
from tests.waiting import eventually

ECHO = TaskType("echo")
A_RING = True


class Rings:
    """Rings that a test gives; an error among them is raised."""

    def __init__(self):
        self.given = Queue()
        self.places = []

    def wait(self, task_type, partition):
        self.places.append((task_type, partition))
        try:
            ring = self.given.get(timeout=0.01)
        except Empty:
            return False
        if isinstance(ring, Exception):
            raise ring
        return ring


class Nudged(InlineExecutor):
    def __init__(self):
        super().__init__()
        self.is_nudged = Event()

    def nudge(self):
        self.is_nudged.set()


@pytest.fixture
def rings():
    return Rings()


@pytest.fixture
def executor():
    return Nudged()


@pytest.fixture
def bell(rings, executor):
    bell = RingBell(rings, executor)
    yield bell
    bell.rest()


def test_a_ring_ends_the_wait_until_it_is_cleared(bell, rings, executor):
    assert bell.listen(ECHO, 3)
    assert not bell.has_rung()
    rings.given.put(A_RING)
    assert executor.is_nudged.wait(10)
    assert bell.has_rung()
    assert set(rings.places) == {(ECHO, 3)}
    bell.clear()
    assert not bell.has_rung()


def test_a_process_at_rest_takes_no_ring_from_others(bell, rings):
    bell.listen(ECHO, 0)
    eventually(lambda: rings.places, within=10, reason="it listens")
    bell.rest()
    rings.places.clear()
    bell.listen(ECHO, 1)
    eventually(lambda: (ECHO, 1) in rings.places, within=10, reason="it listens elsewhere")
    assert rings.places[1:].count((ECHO, 0)) == 0
    assert not bell.has_rung()


def test_a_redis_that_is_away_is_told_and_asked_again(bell, rings, executor, caplog):
    rings.given.put(StoreUnavailable("Redis", "away"))
    with caplog.at_level(logging.WARNING, "taskmill"):
        bell.listen(ECHO, 0)
        eventually(lambda: caplog.records, within=10, reason="the warning")
    rings.given.put(A_RING)
    assert executor.is_nudged.wait(10)
    assert [one.message for one in caplog.records] == ["no rings are heard"]
