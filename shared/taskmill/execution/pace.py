"""How fast the queue's clockwork goes: one value, so that tests can run all of it faster."""

from datetime import timedelta

from msgspec import Struct

from taskmill.core.lifetimes import HEARTBEAT, HOLD, LEASE, Lifetimes


class Pace(Struct, frozen=True, kw_only=True):
    lease: timedelta = LEASE
    heartbeat: timedelta = HEARTBEAT
    settle: timedelta = timedelta(milliseconds=250)
    """What has ended is settled at least this often."""
    margin: timedelta = timedelta(seconds=1)
    """What an invocation keeps back for settling and flushing."""
    leave: timedelta = timedelta(seconds=1)
    """What runs when its process is told to end has so long; then its turn is given back."""
    hold: timedelta = HOLD
    tick: timedelta = timedelta(milliseconds=100)
    """How often the scheduler looks for what is due."""


USUAL = Pace()


def lifetimes_of(pace: Pace) -> Lifetimes:
    """Return how long the hot state keeps what it keeps at this pace."""
    return Lifetimes(lease=pace.lease, hold=pace.hold)
