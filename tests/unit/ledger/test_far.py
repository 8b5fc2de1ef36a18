"""Only what was admitted is brought near."""

from datetime import timedelta

from taskmill.core.task import Status, Timing
from taskmill.dispatch.waiting import Delayed
from taskmill.ledger.far import FarFuture, delay
from taskmill.ledger.projection import row_of
from tests.builders import a_request
from tests.unit.world import World

MINUTE_MS = 60_000


def waiting(world, **changes):
    timing = Timing(run_at_ms=world.now + MINUTE_MS, said_ms=world.now)
    return row_of(a_request(timing=timing, **changes))


class Far:
    """Rows that come near, and those that left."""

    def __init__(self, *rows):
        self.rows, self.left = list(rows), []

    def coming(self, *, within):
        assert within
        yield self.rows

    def leave(self, rows):
        self.left += rows


class Stores:
    def __init__(self, far, delays):
        self.far, self.delays = far, delays


def test_what_the_dispatcher_has_not_admitted_gets_no_record():
    world = World()
    row = waiting(world, generation=0)
    assert row.status is Status.SCHEDULED
    assert delay([row], world.ports.delays) == [Delayed.FAR]
    assert world.hot.records == {}


def test_it_stays_with_the_ledger_until_it_is_admitted():
    world = World()
    far = Far(waiting(world, generation=0))
    future = FarFuture(Stores(far, world.ports.delays))
    assert future.bring_near(within=timedelta(hours=2)) == 0
    assert far.left == []
    far.rows = [waiting(world, generation=world.now)]
    future.bring_near(within=timedelta(hours=2))
    assert far.left == far.rows
