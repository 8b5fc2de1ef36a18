"""Cancelling and redriving: snapshots of tasks, orders on them, and every answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from msgspec import Struct

from taskmill.core.facts import Fact, TaskAdmitted
from taskmill.core.owed import Cold, Owed, OwedKey, OwedKind
from taskmill.core.task import Envelope, Millis, Status, TaskId, TaskType
from taskmill.core.view import Absent, Ending, TaskView
from taskmill.lanes.lane import Member
from taskmill.submission.submission import admission_of


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSnapshot:  # not a Struct: one field is excluded from comparison
    """A record as it was read, with everything that its present turn still owes."""

    task: TaskView
    turn: int
    token: int
    submitted: int
    """The generation of the submission."""
    last: tuple[Fact, ...]
    now_ms: Millis = field(compare=False)
    """When it was read, by the clock of Redis."""
    owed: Mapping[OwedKind, Owed] = field(default_factory=dict)
    restored_until_ms: Millis = field(default=Millis(0), compare=False)
    """When a lease without a known holder, restored by a rebuild, expires; else 0."""

    @property
    def begins_ms(self) -> Millis:
        """Return when the present turn may start; 0 when it waits for no time."""
        return self.task.due_at_ms or Millis(0)

    @property
    def may_run(self) -> bool:
        """Return whether somebody runs it, or may: the holder of a restored lease is unknown."""
        is_restored = self.restored_until_ms > max(self.now_ms, self.begins_ms - 1)
        return self.task.status is Status.RUNNING or is_restored

    @property
    def in_line(self) -> tuple[tuple[TaskType, Member], ...]:
        """Return its place in its lane: none while it runs, or waits for a time."""
        if self.task.status.is_final or self.may_run or self.begins_ms > self.now_ms:
            return ()
        return ((self.task.spec.type, Member(self.task.id, self.task.generation, self.turn)),)

    @property
    def moment(self) -> "Moment":
        return Moment(self.task.generation, self.turn, self.task.status)

    def owed_key(self, kind: OwedKind, *, hold: int | None = None) -> OwedKey:
        generation = self.task.generation
        return OwedKey(id=self.task.id, generation=generation, turn=self.turn, kind=kind, hold=hold)

    def owed_facts(self, kind: OwedKind) -> tuple[Fact, ...]:
        owed = self.owed.get(kind)
        return owed.facts if owed else ()


SnapshotAnswer: TypeAlias = TaskSnapshot | Absent | Cold


class Moment(Struct, frozen=True):
    """The state of a task when an order was made: the order is valid only while it is unchanged."""

    generation: int
    turn: int
    status: Status


class CancelOrder(Struct, frozen=True, kw_only=True):
    """Ends a waiting task; without an ending it asks the worker of a running one to stop."""

    id: TaskId
    seen: Moment
    facts: tuple[Fact, ...]
    ending: Ending | None
    status: Status = Status.CANCELLED
    """Its new status: cancelled, or dead because it expired."""
    begins_ms: Millis = Millis(0)
    """When the turn that was read may start: nobody runs it before."""

    @property
    def last(self) -> tuple[Fact, ...]:
        """The answer to a late claim: it came through the log, which therefore has the body."""
        return tuple(fact for fact in self.facts if not isinstance(fact, TaskAdmitted))


class RedriveOrder(Struct, frozen=True, kw_only=True):
    """Starts an ended task's next generation, with the facts that ended the previous one."""

    seen: Moment | None
    """None: there was no record, so it is created from the ledger."""
    envelope: Envelope
    facts: tuple[Fact, ...]
    token: int
    """The largest known fencing token: no later lease may have a smaller one."""


class ChangeOrder(Struct, frozen=True, kw_only=True):
    """Starts a waiting task's next turn, with another time, priority or metadata."""

    seen: Moment
    envelope: Envelope
    due_at_ms: Millis
    facts: tuple[Fact, ...]
    begins_ms: Millis = Millis(0)
    """When the turn that was read may start: nobody runs it before."""


class Redriven(Struct, frozen=True):
    generation: int


class Moved(Struct, frozen=True):
    """The task has moved on since it was read: nothing was changed. Read it again."""


RedriveAnswer: TypeAlias = Redriven | Moved | Cold


@dataclass(frozen=True, slots=True)
class Ordered:  # not a Struct: its field is excluded from comparison
    """The order is valid: publish its facts."""

    hold: int | None = field(default=None, compare=False)
    """Until when the caller has the entry with these facts to itself (ms)."""


OrderAnswer: TypeAlias = Ordered | Moved | Cold


def before_the_end(snapshot: TaskSnapshot) -> tuple[Fact, ...]:
    """Return what must be published before the end of a waiting task: everything its turn owes.

    An owed submission may not be in the log yet. Without it the ledger could not store the end
    completely, and any other submission in the log under its key would start a new life.
    """
    owed = snapshot.owed.get(OwedKind.SUBMISSION)
    admitted = (admission_of(owed.task),) if owed is not None and owed.task is not None else ()
    facts: list[Fact] = []
    for kind in OwedKind:  # a changed turn carries what its change owes, too
        facts += [fact for fact in snapshot.owed_facts(kind) if fact not in facts]
    return (*facts, *admitted)
