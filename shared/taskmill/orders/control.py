"""Cancelling and redriving: what is seen of a task, what is ordered of it, and every answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct

from taskmill.core.facts import Fact, TaskAdmitted
from taskmill.core.owed import Cold, Owed, OwedKey, OwedKind
from taskmill.core.task import Envelope, Millis, Status, TaskId
from taskmill.core.view import Absent, Ending, TaskView
from taskmill.submission.submission import admission_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:  # no Struct: one field is no part of what it is compared by
    """A record as it was seen, with what its present turn still owes."""

    task: TaskView
    turn: int
    token: int
    submitted: int
    """The generation that the submission got."""
    last: tuple[Fact, ...]
    now_ms: Millis = field(compare=False)
    """When it was seen, by the clock of Redis."""
    owed: Mapping[OwedKind, Owed] = field(default_factory=dict)
    restored_until_ms: Millis = field(default=Millis(0), compare=False)
    """Until when a lease lives that a rebuild restored, without its holder; else 0."""

    @property
    def begins_ms(self) -> Millis:
        """Return when the present turn may begin; 0 when it waits for no time."""
        return self.task.due_at_ms or Millis(0)

    @property
    def may_run(self) -> bool:
        """Say whether somebody runs it, or may: nobody knows who held a restored lease."""
        is_restored = self.restored_until_ms > max(self.now_ms, self.begins_ms - 1)
        return self.task.status is Status.RUNNING or is_restored

    @property
    def moment(self) -> "Moment":
        return Moment(self.task.generation, self.turn, self.task.status)

    def owed_key(self, kind: OwedKind) -> OwedKey:
        generation = self.task.generation
        return OwedKey(id=self.task.id, generation=generation, turn=self.turn, kind=kind)

    def owed_facts(self, kind: OwedKind) -> tuple[Fact, ...]:
        owed = self.owed.get(kind)
        return owed.facts if owed else ()


Sight: TypeAlias = Sighting | Absent | Cold


class Moment(Struct, frozen=True):
    """How far a task was when an order was made: the order stands only while it is still so."""

    generation: int
    turn: int
    status: Status


class CancelOrder(Struct, frozen=True, kw_only=True):
    """Ends a task that waits; without an ending it asks one that runs, or may, to end."""

    id: TaskId
    seen: Moment
    facts: tuple[Fact, ...]
    ending: Ending | None
    status: Status = Status.CANCELLED
    """What it is then: cancelled, or dead because its time is over."""
    begins_ms: Millis = Millis(0)
    """When the turn that was seen may begin: nobody runs it before."""

    @property
    def last(self) -> tuple[Fact, ...]:
        """What a late claim is answered: it came through the log, which therefore has the body."""
        return tuple(fact for fact in self.facts if not isinstance(fact, TaskAdmitted))


class RedriveOrder(Struct, frozen=True, kw_only=True):
    """Gives an ended task its next generation, with the facts that ended the one before."""

    seen: Moment | None
    """None: there was no record, and it is made from the ledger."""
    envelope: Envelope
    facts: tuple[Fact, ...]
    token: int
    """The largest that is known: no later lease may have less."""


class ChangeOrder(Struct, frozen=True, kw_only=True):
    """Gives a task that waits its next turn, with another time or other metadata."""

    seen: Moment
    envelope: Envelope
    due_at_ms: Millis
    facts: tuple[Fact, ...]
    begins_ms: Millis = Millis(0)
    """When the turn that was seen may begin: nobody runs it before."""


class Redriven(Struct, frozen=True):
    generation: int


class Moved(Struct, frozen=True):
    """The task went on since it was seen: nothing was changed. Look again."""


RedriveAnswer: TypeAlias = Redriven | Moved | Cold


class OrderAnswer(StrEnum):
    DONE = "done"
    MOVED = "moved"
    """The task went on since it was seen: nothing was changed. Look again."""
    COLD = "cold"


def before_the_end(sight: Sighting) -> tuple[Fact, ...]:
    """Return what must be told before the end of a task that waits: all that its turn owes.

    A submission that is owed may not be in the log yet. Of an end without it the ledger could keep
    nothing whole, and whatever else stands in the log under its key would begin a new life.
    """
    owed = sight.owed.get(OwedKind.SUBMISSION)
    admitted = (admission_of(owed.task),) if owed is not None and owed.task is not None else ()
    return (*(fact for kind in OwedKind for fact in sight.owed_facts(kind)), *admitted)
