"""Orders to wait for a time or a worker, and the answers."""

from datetime import timedelta
from enum import StrEnum

from msgspec import Struct

from taskmill.core.task import Envelope, Millis


class Delayed(StrEnum):
    NEAR = "near"
    """The task is owed to its lane at its time."""
    FAR = "far"
    """The ledger keeps the task and will bring it near."""
    OVER = "over"
    """The task has moved on."""
    FORGOTTEN = "forgotten"
    """No record, and too old to adopt: the ledger decides."""
    COLD = "cold"


class DelayOrder(Struct, frozen=True, kw_only=True):
    """Makes a task wait for its time."""

    envelope: Envelope
    due_at_ms: Millis
    from_ledger: bool = False
    """Comes from the ledger: far or near by the current clock, however old the task is."""
    token: int = 0
    """The largest known fencing token: no later lease may have a smaller one."""
    losses: int = 0
    raw: bytes = b""
    """The envelope as received, to be passed on unchanged."""


class Unshelved(StrEnum):
    QUEUED = "queued"
    """It waits, and has a record; or it runs, and its lane must have it."""
    OVER = "over"
    """The task has moved on."""
    COLD = "cold"


class UnshelveOrder(Struct, frozen=True, kw_only=True):
    """Makes the record of a task that only the ledger keeps because its line is full."""

    envelope: Envelope
    token: int
    """The largest known fencing token: no later lease may have a smaller one."""
    losses: int


PATIENCE_WITH_A_TYPE = timedelta(minutes=10)
"""Parks a task: a rolling deployment may bring its worker soon, or never."""

REQUEUE_AFTER = timedelta(seconds=10)


class ParkAnswer(StrEnum):
    PARKED = "parked"
    """The task is owed to `tasks.pending` after a while."""
    OVER = "over"
    """The task has waited long enough or has moved on: claim decides."""
    COLD = "cold"
