"""The intervals of the protocol as one value, so that tests can shorten all of them."""

from datetime import timedelta

from msgspec import Struct

from taskmill.core.lifetimes import HEARTBEAT, HOLD, LEASE, Lifetimes


class Pace(Struct, frozen=True, kw_only=True):
    lease: timedelta = LEASE
    heartbeat: timedelta = HEARTBEAT
    settle: timedelta = timedelta(milliseconds=250)
    """Ended attempts are settled at least this often."""
    margin: timedelta = timedelta(seconds=1)
    """Time that an invocation reserves for settling and flushing."""
    leave: timedelta = timedelta(seconds=1)
    """How long running attempts may continue in a process that must end, before it gives back their
    turns."""
    hold: timedelta = HOLD
    tick: timedelta = timedelta(milliseconds=100)
    """How often the scheduler looks for due entries."""


USUAL = Pace()


def lifetimes_of(pace: Pace) -> Lifetimes:
    """Return how long Redis keeps its data at this pace."""
    return Lifetimes(lease=pace.lease, hold=pace.hold)
