"""The right to run a turn: claims, and every answer to a claim, a heartbeat and a settle."""

from datetime import timedelta
from enum import StrEnum
from typing import Final, TypeAlias

from msgspec import Struct

from taskmill.core.facts import Fact
from taskmill.core.owed import Cold, Owed
from taskmill.core.task import Envelope, Millis, Status, TaskId
from taskmill.core.view import Ending, Waiting

LOSSES_BEFORE_POISON = 3
LOSSES_IN_COMPANY = 1
"""A task with more losses runs alone, so that it takes nobody with it."""

_MARGIN: Final = 6
"""A claim is late from this part of a lease before its look: one second in six."""


class Claim(Struct, frozen=True, kw_only=True):
    envelope: Envelope
    source: str
    """The take: a process, and its number there. After a lost reply the same one claims again."""
    look: int
    """When the lane looks at the record: milliseconds times 1000, plus a number. 0 if never."""
    timeout: timedelta
    alone: bool


def latest_claim_ms(claim: Claim, *, lease_ms: int) -> int | None:
    """Return until when it may be made: before its look, by more than two clocks may differ."""
    return claim.look // 1000 - lease_ms // _MARGIN if claim.look else None


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
    """The platform died under this task more than once: it must be taken alone."""

    losses: int


class HeldLease(Struct, frozen=True):
    """Another take, or an unknown holder, has a living lease: the turn is its own."""


class Late(Struct, frozen=True):
    """The lane is about to look at the record, and may give the turn to another taker."""


class TurnOver(Struct, frozen=True):
    """The record is over, or further than this turn: publish these facts, then leave the lane."""

    facts: tuple[Fact, ...]


class Forgotten(Struct, frozen=True):
    """No record, and too old to adopt: the ledger decides."""


ClaimAnswer: TypeAlias = Claimed | Suspect | HeldLease | Late | TurnOver | Forgotten | Cold


class Lease(Struct, frozen=True, kw_only=True):
    id: TaskId
    generation: int
    turn: int
    token: int
    source: str
    """The take that claimed it."""
    is_sure: bool
    """Whether no lease has passed between two answers to its beats. Otherwise a lease that was
    restored may be that of another process, which took the turn over meanwhile."""


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
    """The turn has a new owner or is over: nothing was changed."""


class CancelFirst(Struct, frozen=True):
    """It was cancelled while running and did not succeed: settle it as cancelled."""


SettleAnswer: TypeAlias = Settled | Stale | CancelFirst | Cold
