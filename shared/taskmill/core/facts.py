"""Facts about a task, in the past tense: the records of `tasks.events`."""

from typing import TypeAlias

from msgspec import Raw, Struct

from taskmill.core.pointers import Pointer
from taskmill.core.task import Envelope, Moment, TaskId, TaskType


class _Fact(Struct, frozen=True, kw_only=True, tag_field="kind", tag=True):
    id: TaskId
    generation: int
    turn: int
    at_ms: Moment
    type: TaskType
    tenant: str


class TaskAdmitted(_Fact, frozen=True, kw_only=True):
    """A submission was admitted that the log has as deferred or may lack; contains its body."""

    envelope: Envelope


class SubmissionDropped(_Fact, frozen=True, kw_only=True):
    """A deferred submission found its key taken; the fact belongs to the first task's history."""

    submission: str
    verdict: str


class CancelRequested(_Fact, frozen=True, kw_only=True):
    """A running task was asked to end: only its end changes the status."""


class TaskShelved(_Fact, frozen=True, kw_only=True):
    """A first turn waits in the ledger only, because its line is full; its status is unchanged."""

    line: str
    order: int
    """Its place in the line."""


class TaskChanged(_Fact, frozen=True, kw_only=True):
    """A waiting task got a new time, metadata or priority, which apply to its next turn."""

    envelope: Envelope


class _TriedFact(_Fact, frozen=True, kw_only=True):
    attempt: int
    token: int
    losses: int


class _AttemptFact(_TriedFact, frozen=True, kw_only=True):
    started_at_ms: Moment


class _EndFact(_TriedFact, frozen=True, kw_only=True):
    started_at_ms: Moment | None = None
    """None when the task ended while it was waiting."""


class TaskStarted(_AttemptFact, frozen=True, kw_only=True):
    pass


class AttemptLost(_AttemptFact, frozen=True, kw_only=True):
    """The platform died under an attempt; `token` is that of the expired lease."""


SNOOZED = "snoozed"


class TaskDeferred(_AttemptFact, frozen=True, kw_only=True):
    """The turn ended; the next one waits for its time."""

    due_at_ms: Moment
    next_attempt: int
    reason: str
    """One of `failed`, `timeout`, `snoozed`, `stopped`."""
    error_class: str
    error_message: str
    stack: str | None = None
    """Stack frames of the worker's exception, without values."""


class TaskSucceeded(_AttemptFact, frozen=True, kw_only=True):
    result: Raw
    result_ref: Pointer | None = None
    """Where a large result is stored; `result` is then null."""


class TaskDied(_EndFact, frozen=True, kw_only=True):
    reason: str
    error_class: str
    error_message: str
    stack: str | None = None


class TaskCancelled(_EndFact, frozen=True, kw_only=True):
    pass


TurnEnd: TypeAlias = TaskSucceeded | TaskDeferred | TaskDied | TaskCancelled
"""What ends a turn."""

Fact: TypeAlias = (
    TaskAdmitted
    | SubmissionDropped
    | CancelRequested
    | TaskShelved
    | TaskChanged
    | TaskStarted
    | AttemptLost
    | TaskDeferred
    | TaskSucceeded
    | TaskDied
    | TaskCancelled
)
