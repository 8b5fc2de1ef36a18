"""The right to run a turn: what is claimed, and every answer to a claim, a beat and a settle."""

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
    """A lease that lapsed, and was taken over."""

    token: int
    losses: int
    """How many it made, with this one."""

    started_at_ms: Millis
    at_ms: Millis


class Claimed(Struct, frozen=True, kw_only=True):
    token: int
    losses: int
    started_at_ms: Millis
    untold: tuple[Loss, ...] = ()
    """The losses of this turn: who took over before may have died before telling."""

    cancel_requested: bool = False
    """True: it was cancelled while it ran, so it is ended and not run again."""


class Suspect(Struct, frozen=True):
    """The platform died under this task before: claim it alone, when nothing else runs."""

    losses: int


class Held(Struct, frozen=True):
    """A living lease of the same record, or of nobody known: the item comes again."""


class Refused(Struct, frozen=True):
    """Another record holds the turn, or it is over: publish what it still owes, then drop it."""

    facts: tuple[Fact, ...]


class Forgotten(Struct, frozen=True):
    """No record, and too old to be adopted: the ledger decides."""


ClaimAnswer: TypeAlias = Claimed | Suspect | Held | Refused | Forgotten | Cold


class Lease(Struct, frozen=True, kw_only=True):
    id: TaskId
    generation: int
    turn: int
    token: int


class Beat(StrEnum):
    HELD = "held"
    LOST = "lost"
    CANCEL = "cancel"
    """Held, and its holder is to end it."""

    COLD = "cold"


class NextTurn(Struct, frozen=True, kw_only=True):
    """The turn that follows the one that is settled: owed at its time, with the facts before it."""

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
    """The settlement stands; publish these facts."""

    facts: tuple[Fact, ...]


class Stale(Struct, frozen=True):
    """The turn is another's or is over: nothing was changed, and the record must come again."""


class CancelFirst(Struct, frozen=True):
    """It was cancelled while it ran, and did not succeed: settle it as cancelled."""


SettleAnswer: TypeAlias = Settled | Stale | CancelFirst | Cold
