"""Disagreements between the ledger and a task's record, and their repairs."""

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from typing import TypeAlias, assert_never

from msgspec import Struct

from taskmill.core.lifetimes import ADOPTION_AGE
from taskmill.core.owed import Cold, OwedKind
from taskmill.core.task import Millis, Status, TaskId, TaskType
from taskmill.core.time import FAR, in_ms
from taskmill.core.view import Absent
from taskmill.lanes.lane import Member
from taskmill.orders.control import Moment, SnapshotAnswer, TaskSnapshot
from taskmill.recovery.restoration import HotView

BROUGHT_NEAR_WITHIN = timedelta(minutes=2)
"""Time for bringing a task near once its time comes near."""


class Divergence(StrEnum):
    LEDGER_BEHIND = "ledger_behind"
    RECORD_BEHIND = "record_behind"
    RECORD_MISSING = "record_missing"
    NOT_QUEUED = "nowhere_in_line"
    UNLISTED = "unlisted"
    """Due entries, not tasks, that the due set does not name."""


ABOUT: Mapping[Divergence, tuple[str, str]] = {
    Divergence.LEDGER_BEHIND: (
        "the record is ahead of the ledger, which has read the whole log",
        "publish the record's last facts again",
    ),
    Divergence.RECORD_BEHIND: (
        "the ledger is ahead of the record",
        "update the record from the ledger",
    ),
    Divergence.RECORD_MISSING: (
        "unfinished in the ledger for more than an hour, but without a record",
        "create the record from the ledger and queue the task",
    ),
    Divergence.NOT_QUEUED: (
        "unfinished in both, but neither owed nor in its lane",
        "put the task into its lane again",
    ),
    Divergence.UNLISTED: (
        "owed, but missing from the due set, so nobody publishes it",
        "make it due now",
    ),
}
"""The meaning of each kind and its repair."""


class TaskVersion(Struct, frozen=True, kw_only=True):
    """A task's version in the ledger: how far along it is."""

    id: TaskId
    type: TaskType
    status: Status
    generation: int
    turn: int
    due_at_ms: Millis | None
    finished_at_ms: Millis | None
    is_shelved: bool = False
    """True when it waits in the ledger only, because its line is full."""

    @property
    def position(self) -> "Position":
        """The version that the record should have: a retrying task is in its next turn."""
        is_retrying = self.status is Status.RETRYING
        return self.generation, self.status.is_final, self.turn + is_retrying


Position: TypeAlias = tuple[int, bool, int]
"""Generation, whether it is closed, turn."""


def position_of(snapshot: TaskSnapshot) -> Position:
    task = snapshot.task
    return task.generation, task.status.is_final, snapshot.turn


def divergence(
    task_version: TaskVersion, snapshot: SnapshotAnswer, *, now: Millis
) -> Divergence | None:
    """Return how the two disagree, if they do; it may pass a moment later."""
    match snapshot:
        case Cold():
            return None
        case Absent():
            is_old = task_version.generation + in_ms(ADOPTION_AGE) < now
            is_lost = is_old and task_version.generation and not task_version.status.is_final
            is_kept = task_version.is_shelved or _is_far(task_version, now)
            return Divergence.RECORD_MISSING if is_lost and not is_kept else None
        case TaskSnapshot():
            return _between(task_version, snapshot, now)
        case _:
            assert_never(snapshot)


def _is_far(task_version: TaskVersion, now: Millis) -> bool:
    """Return whether it has no record because it is due far in the future."""
    if task_version.status is not Status.SCHEDULED or task_version.due_at_ms is None:
        return False
    return task_version.due_at_ms - now > in_ms(FAR - BROUGHT_NEAR_WITHIN)


def _between(task_version: TaskVersion, snapshot: TaskSnapshot, now: Millis) -> Divergence | None:
    record, row = position_of(snapshot), task_version.position
    if record[0] == row[0] and record[1] and row[1]:
        is_same = snapshot.task.status is task_version.status
        # Of two different ends the ledger's is authoritative.
        return None if is_same else Divergence.RECORD_BEHIND
    if row > record:
        return Divergence.RECORD_BEHIND
    if row < record:
        return None if OwedKind.SUBMISSION in snapshot.owed else Divergence.LEDGER_BEHIND
    due = snapshot.task.due_at_ms
    is_early = due is not None and due > now
    has_a_place = snapshot.owed or is_early or task_version.is_shelved
    return None if has_a_place else Divergence.NOT_QUEUED  # unless its lane has it


class Diverged(Struct, frozen=True, kw_only=True):
    """A persistent disagreement."""

    kind: Divergence
    task_version: TaskVersion
    snapshot: TaskSnapshot | Absent

    @property
    def sign(self) -> "Sign":
        """What must be the same at the next look."""
        token = self.snapshot.token if isinstance(self.snapshot, TaskSnapshot) else 0
        return self.kind, self.task_version, self.seen, token

    @property
    def place(self) -> tuple[TaskType, Member] | None:
        """Return where it should be in its lane, if that is all that disagrees."""
        if self.kind is not Divergence.NOT_QUEUED or not isinstance(self.snapshot, TaskSnapshot):
            return None
        task = self.snapshot.task
        return self.task_version.type, Member(task.id, task.generation, self.snapshot.turn)

    @property
    def seen(self) -> Moment | None:
        return self.snapshot.moment if isinstance(self.snapshot, TaskSnapshot) else None


Sign: TypeAlias = tuple[Divergence, TaskVersion, Moment | None, int]


class RepairOrder(Struct, frozen=True, kw_only=True):
    """Updates a record from the ledger, if it is still as it was read."""

    seen: Moment | None
    """None: there was no record, and the task must be queued again."""
    view: HotView

    @property
    def due_at_ms(self) -> Millis | None:
        """When the task must be queued; None when it already is."""
        if self.view.due_at_ms is not None:
            return self.view.due_at_ms
        return Millis(0) if self.seen is None else None


class RepairAnswer(StrEnum):
    DONE = "done"
    MOVED = "moved"
    """The task has moved on since it was read: nothing was changed."""
    COLD = "cold"
