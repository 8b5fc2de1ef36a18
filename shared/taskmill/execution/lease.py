"""The right to run a turn: claims, and every answer to a claim, a heartbeat and a settle."""

from datetime import timedelta
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct

from taskmill.core.facts import Fact
from taskmill.core.log import Source
from taskmill.core.owed import Cold, Owed
from taskmill.core.task import Envelope, Millis, Status, TaskId
from taskmill.core.view import Ending, Waiting

LOSSES_BEFORE_POISON = 3


class Claim(Struct, frozen=True, kw_only=True):
    envelope: Envelope
    source: Source
    process: str
    timeout: timedelta
    alone: bool


class Loss(Struct, frozen=True, kw_only=True):
    """An expired lease that was taken over."""

    token: int
    losses: int
    """How many there are, including this one."""

    started_at_ms: Millis
    at_ms: Millis


class Claimed(Struct, frozen=True, kw_only=True):
    token: int
    losses: int
    started_at_ms: Millis
    unreported: tuple[Loss, ...] = ()
    """The losses of this turn: an earlier successor may have died before reporting them."""

    cancel_requested: bool = False
    """True if it was cancelled while running, so that it is ended and not run again."""


class Suspect(Struct, frozen=True):
    """The platform died under this task before: claim it alone, when nothing else runs."""

    losses: int


class HeldLease(Struct, frozen=True):
    """A live lease of the same record, or of an unknown holder: the item is retried."""


class LeaseRefused(Struct, frozen=True):
    """Another record holds the turn, or it is over: publish what it still owes, then drop it."""

    facts: tuple[Fact, ...]


class Forgotten(Struct, frozen=True):
    """No record, and too old to adopt: the ledger decides."""


ClaimAnswer: TypeAlias = Claimed | Suspect | HeldLease | LeaseRefused | Forgotten | Cold


class Lease(Struct, frozen=True, kw_only=True):
    id: TaskId
    generation: int
    turn: int
    token: int


class Beat(StrEnum):
    HELD = "held"
    LOST = "lost"
    CANCEL = "cancel"
    """Held, and its holder should stop the attempt."""

    COLD = "cold"


class NextTurn(Struct, frozen=True, kw_only=True):
    """The turn after the settled one: owed at its time, with the facts that precede it."""

    waiting: Waiting
    owed: Owed


class Settlement(Struct, frozen=True, kw_only=True):
    envelope: Envelope
    token: int
    status: Status
    facts: tuple[Fact, ...]
    ending: Ending | None = None
    result: bytes | None = None
    next: NextTurn | None = None


class Settled(Struct, frozen=True):
    """The settlement is valid; publish these facts."""

    facts: tuple[Fact, ...]


class Stale(Struct, frozen=True):
    """The turn has a new owner or is over: nothing was changed, and the record is retried."""


class CancelFirst(Struct, frozen=True):
    """It was cancelled while running and did not succeed: settle it as cancelled."""


SettleAnswer: TypeAlias = Settled | Stale | CancelFirst | Cold
