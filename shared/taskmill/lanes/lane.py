"""What a lane holds, and the answers of its scripts."""

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Final, TypeAlias

from msgspec import Struct

from taskmill.core.facts import Fact
from taskmill.core.owed import Cold
from taskmill.core.task import Envelope, Millis, Priority, TaskId, TaskType
from taskmill.core.wake_up import WakeUp
from taskmill.lanes.order import order_of

MOST_TAKEN: Final = 100
BYTES_TAKEN: Final = 4_000_000
"""A take stops after this many bytes of envelopes."""

LOOK_TAKES: Final = timedelta(seconds=10)
"""How long a scheduler may take to look at a record; then another one looks at it."""


def lane_of(task_type: TaskType) -> str:
    """Return the name of the lane in which tasks of a type wait: each type has its own."""
    return task_type


class Member(Struct, frozen=True, order=True):
    """One turn of a task: the only name that a task has in a lane."""

    id: TaskId
    generation: int
    turn: int

    def __str__(self) -> str:
        return f"{self.id}|{self.generation}|{self.turn}"


def member_of(envelope: Envelope) -> Member:
    return Member(envelope.id, envelope.generation, envelope.turn)


def member_in(text: str) -> Member:
    task_id, generation, turn = text.split("|")
    return Member(TaskId(task_id), int(generation), int(turn))


class Line(Struct, frozen=True, order=True):
    """Waiting tasks that differ in nothing but their order."""

    type: TaskType
    klass: int
    """0 is critical, 3 is low: classes are served in this order."""

    tenant: str
    fairness_key: str
    gates: str = ""
    is_alone: bool = False
    """True for tasks that must run alone: they may have killed their process."""

    def __str__(self) -> str:
        task_type = f"{self.type}!" if self.is_alone else self.type
        return "\t".join((task_type, f"{self.klass}", self.tenant, self.fairness_key, self.gates))


def line_of(envelope: Envelope) -> Line:
    return Line(
        type=envelope.type,
        klass=Priority.CRITICAL - envelope.priority,
        tenant=envelope.tenant,
        fairness_key=envelope.fairness_key or "",
    )


def type_of(line: str) -> TaskType:
    """Return the type of a line, as it is written."""
    return TaskType(line.partition("\t")[0].removesuffix("!"))


def class_of(line: str) -> Priority:
    """Return the priority of a line's tasks, as it is written."""
    return Priority(Priority.CRITICAL - int(line.split("\t", 2)[1]))


class Entered(StrEnum):
    WAITS = "waits"
    """It waits in the lane, or was there before."""
    SHELVED = "shelved"
    """Its line is full, or has an open shelf: it waits in the ledger only."""
    COLD = "cold"


class Shelved(Struct, frozen=True, kw_only=True):
    """Where a task stands that waits in the ledger only."""

    member: Member
    line: str
    order: int


def place_of(envelope: Envelope) -> Shelved:
    """Return the place of a task on the shelf of its line."""
    line, order = str(line_of(envelope)), order_of(envelope)
    return Shelved(member=member_of(envelope), line=line, order=order)


class Enter(Struct, frozen=True):
    answers: tuple[Entered, ...]
    wake: tuple[WakeUp, ...] = ()


class Alone(StrEnum):
    """Whether a take may give a task that must run alone."""

    FIRST = "first"
    LAST = "last"
    """Only if there is no other."""
    NEVER = ""


class Leave(Struct, frozen=True):
    """A member whose last facts are in the log.

    Its epoch is the one known before the record said so: in another one the lane or a record was
    lost meanwhile, and nothing that was said counts.
    """

    member: Member
    epoch: str


class Take(Struct, frozen=True, kw_only=True):
    type: TaskType
    most: int = 0
    alone: Alone = Alone.NEVER
    partition: int | None = None
    """The partition of the caller's wake-up; None for a scheduler."""
    waits: timedelta | None = timedelta()
    """How long the caller waits for a ring; None if it ends."""
    leaves: tuple[Leave, ...] = ()
    epoch: str = ""
    """The epoch of the lane as the caller knows it: leaves of other epochs are not sent."""


class TakenTask(Struct, frozen=True, kw_only=True):
    member: Member
    look: int
    """Names this take; the record refuses a claim that comes near the look's time."""
    raw: bytes


class HeldEnvelope(Struct, frozen=True):
    """A task that a lane holds, in line or in flight."""

    member: Member
    raw: bytes


class TakeAnswer(Struct, frozen=True, kw_only=True):
    epoch: str
    tasks: tuple[TakenTask, ...] = ()
    is_alone: bool = False
    """True when the one task of it must run alone."""

    is_unwatched: bool = False
    """True when nobody has watched the lane for a while: the caller does it."""

    must_stay: bool = False
    """True when tasks are in flight, and nobody else is there for them.

    No scheduler has watched the lane for a while, and no other process has asked it for tasks.
    """

    wake: tuple[WakeUp, ...] = ()


class Watched(Struct, frozen=True, kw_only=True):
    """Tasks in flight whose records are to be looked at."""

    epoch: str
    is_empty: bool = False
    """Whether nothing waits in the lane and nothing is in flight."""
    tasks: tuple[TakenTask, ...] = ()
    wake: tuple[WakeUp, ...] = ()


class PutBack(Struct, frozen=True, kw_only=True):
    """Back into its line, if it is in flight as it was seen."""

    type: TaskType
    member: Member
    look: int
    alone: bool = False


class LookLater(Struct, frozen=True, kw_only=True):
    type: TaskType
    member: Member
    look: int
    after: timedelta


class Filled(Struct, frozen=True, kw_only=True):
    """A task for a lane that is rebuilt: in flight until a look, or in line."""

    envelope: Envelope
    look_after: timedelta | None = None

    @property
    def place(self) -> Shelved:
        """Its place on the shelf, where its line has no room for it."""
        return place_of(self.envelope)


class ClassCount(Struct, frozen=True):
    waiting: int
    oldest_order: int | None


class LaneCount(Struct, frozen=True, kw_only=True):
    """What a lane holds of one type."""

    classes: Mapping[Priority, ClassCount]
    alone: ClassCount
    in_flight: int
    taken_at_ms: Millis | None
    paused_until_ms: Millis | None
    """When its pause ends; 0 if it has no end, None if there is none."""


class LanePause(Struct, frozen=True, kw_only=True):
    """A pause of a type, or of everything."""

    type: TaskType | None
    until_ms: Millis | None = None


class TurnLives(Struct, frozen=True):
    """A lease lives, whoever holds it: look again when it would end."""

    span: timedelta


class TurnIsOver(Struct, frozen=True):
    """The record is over, or further than this turn: publish these, then let it leave."""

    facts: tuple[Fact, ...]


class TurnIsFree(Struct, frozen=True):
    """Nobody runs it: back into its line."""

    alone: bool = False


class TurnIsGone(Struct, frozen=True):
    """No record, and too old to be given one: the ledger decides."""


TurnState: TypeAlias = TurnLives | TurnIsOver | TurnIsFree | TurnIsGone | Cold
