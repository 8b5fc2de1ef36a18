"""How fast the queue's clockwork goes: one value, so that tests can run all of it faster."""

from datetime import timedelta

from msgspec import Struct

from taskmill.domain.lease import HEARTBEAT, LEASE
from taskmill.domain.retention import HOLD


class Pace(Struct, frozen=True, kw_only=True):
    lease: timedelta = LEASE
    heartbeat: timedelta = HEARTBEAT
    settle: timedelta = timedelta(milliseconds=250)
    """What has ended is settled at least this often."""
    margin: timedelta = timedelta(seconds=1)
    """What an invocation keeps back for settling and flushing."""
    hold: timedelta = HOLD
    tick: timedelta = timedelta(milliseconds=100)
    """How often the scheduler looks for what is due."""


USUAL = Pace()
