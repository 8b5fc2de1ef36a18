"""Gauges show the depth and the age of lanes, and nothing of lanes that nobody knows."""

from datetime import timedelta

import pytest

from taskmill.core.counting import Gauge
from taskmill.core.errors import StoreUnavailable
from taskmill.core.task import Priority
from taskmill.execution.outcome import Retry
from taskmill.insight.measure import LaneGauges, Waits
from taskmill.lanes.lane import PutBack, place_of
from taskmill.stores.memory.process import MemoryCounters
from tests.unit.world import Away, World


@pytest.fixture
def world():
    return World(counters=MemoryCounters({"echo"}))


@pytest.fixture
def gauges(world):
    return LaneGauges(world.stores())


def value(world, what, **labels):
    return world.counters.value(what, type="echo", **labels)


def test_depth_age_and_what_is_in_flight_are_measured(world, gauges):
    world.admitted("a", "b", priority=Priority.HIGH)
    world.admitted("c")
    world.pass_time(seconds=3)
    world.take(most=1)
    assert gauges.report() == 2
    assert value(world, Gauge.WAITING, priority="high") == 1
    assert value(world, Gauge.WAITING, priority="normal") == 1
    assert value(world, Gauge.OLDEST_WAIT) == 3
    assert value(world, Gauge.IN_FLIGHT) == 1


def test_a_retry_has_not_waited_since_its_submission(world, gauges):
    world.admitted()
    world.work(lambda _: Retry("later", delay=timedelta(hours=1)))
    world.pass_time(hours=1)
    gauges.report()
    world.pass_time(seconds=1)
    world.publish_due()
    gauges.report()
    assert value(world, Gauge.WAITING, priority="normal") == 1
    assert value(world, Gauge.OLDEST_WAIT) == 1


@pytest.mark.parametrize(
    ("looks", "waits"),
    [
        ([(0, 100)], 100),  # nobody looked before
        ([(None, 90), (0, 100)], 10),
        ([(None, 50), (40, 60), (40, 100)], 50),  # it was there at each look
        ([(None, 50), (40, 60), (30, 70), (40, 100)], 50),  # it may have been there, too
        ([(None, 50), (40, 60), (30, 70), (20, 100)], 30),
        ([(30, 50), (40, 60), (35, 70), (None, 80), (10, 100)], 20),
    ],
)
def test_what_no_earlier_look_found_has_not_waited_for_longer(looks, waits):
    seen = Waits()
    *_, since = (seen.since(oldest, now) for oldest, now in looks)
    assert looks[-1][1] - since == waits


def test_a_lane_that_stays_empty_reports_nothing(world, gauges):
    assert gauges.report() == 0
    for gauge in Gauge:
        assert value(world, gauge) is None


def test_a_lane_that_becomes_empty_reports_that_once(world, gauges):
    world.admitted()
    gauges.report()
    world.work()
    gauges.report()
    assert value(world, Gauge.WAITING, priority="normal") == 0
    assert value(world, Gauge.OLDEST_WAIT) == 0
    said = []
    world.counters.measure = lambda *args, **labels: said.append((args, labels))
    gauges.report()
    assert said == []


def test_nothing_is_reported_of_a_lane_that_is_rebuilt(world, gauges):
    world.admitted()
    world.hot.lanes["echo"].restart()
    assert gauges.report() == 0
    assert value(world, Gauge.OLDEST_WAIT) is None


def test_what_is_on_shelves_waits_too(world, gauges):
    early = world.request(priority=Priority.HIGH)
    world.ports.shelf.keep([place_of(early), place_of(world.request())])
    world.pass_time(seconds=3)
    world.admitted()
    assert gauges.report() == 3
    assert value(world, Gauge.WAITING, priority="high") == 1
    assert value(world, Gauge.WAITING, priority="normal") == 2
    assert value(world, Gauge.OLDEST_WAIT) == 3


def test_without_the_ledger_the_lanes_are_measured(world):
    world.admitted()
    assert LaneGauges(world.stores(shelf=Away())).report() == 1
    assert value(world, Gauge.WAITING, priority="normal") == 1


def test_what_must_run_alone_is_measured_by_itself(world, gauges):
    world.admitted()
    (taken,) = world.take()
    back = PutBack(type="echo", member=taken.member, look=taken.look, alone=True)
    world.ports.lanes.put_back([back])
    gauges.report()
    assert value(world, Gauge.WAITING, priority="alone") == 1
    assert value(world, Gauge.WAITING, priority="normal") is None


def test_without_redis_the_job_fails(world):
    with pytest.raises(StoreUnavailable):
        LaneGauges(world.stores(lanes=Away())).report()
