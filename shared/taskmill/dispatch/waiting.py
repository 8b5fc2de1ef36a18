"""How a task waits for its time or for its worker: orders, and answers."""

from datetime import timedelta
from enum import StrEnum

from msgspec import Struct

from taskmill.core.task import Envelope, Millis


class Delayed(StrEnum):
    NEAR = "near"
    """It is owed to its worker at its time."""
    FAR = "far"
    """The ledger keeps it, and somebody will bring it near."""
    OVER = "over"
    """Its life went on elsewhere."""
    FORGOTTEN = "forgotten"
    """No record, and too old to be adopted: the ledger decides."""
    COLD = "cold"


class DelayOrder(Struct, frozen=True, kw_only=True):
    """Lets a task wait for its time."""

    envelope: Envelope
    due_at_ms: Millis
    from_ledger: bool = False
    """The ledger vouches for it: it is far or near by the present clock, however old it is."""
    token: int = 0
    """The largest that is known: no later lease may have less."""
    losses: int = 0
    raw: bytes = b""
    """The envelope as it came, to be passed on as it is."""


PATIENCE_WITH_A_TYPE = timedelta(minutes=10)
"""A rolling deployment may bring the worker; longer, and nobody will."""

PUT_IN_LINE_AGAIN_AFTER = timedelta(seconds=10)


class Parked(StrEnum):
    PARKED = "parked"
    """It is owed to `tasks.pending` after a while."""
    OVER = "over"
    """It waited long enough, or its life went on elsewhere: claim decides what becomes of it."""
    COLD = "cold"
