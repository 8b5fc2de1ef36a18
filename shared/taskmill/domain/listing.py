"""What a list of tasks is asked for, and a page of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from taskmill.domain.projection import HistoryEntry
from taskmill.domain.records import TaskView
from taskmill.domain.task import Millis, Status, TaskId, TaskType


@dataclass(frozen=True, slots=True)
class After:
    """Where the page before ended."""

    at_ms: Millis
    """When it was created; in a list of the dead, when it died."""
    id: TaskId


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFilter:
    tenant: str
    type: TaskType | None
    status: Status | None
    metadata: Mapping[str, str]
    created_after_ms: Millis | None
    created_before_ms: Millis | None
    after: After | None
    limit: int
    reason: str | None = None
    error_class: str | None = None
    dead_after_ms: Millis | None = None
    dead_before_ms: Millis | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """Newest first; `as_of_ms` is the newest moment of the log that the ledger shows."""

    tasks: Sequence[TaskView]
    next: After | None
    as_of_ms: Millis | None


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A dead task, and when it failed for the first time in its generation."""

    task: TaskView
    first_failed_at_ms: Millis


@dataclass(frozen=True, slots=True)
class DeadPage:
    """The latest death first."""

    letters: Sequence[DeadLetter]
    next: After | None
    as_of_ms: Millis | None


@dataclass(frozen=True, slots=True)
class History:
    """The latest part of what the ledger knows of a task, in order."""

    entries: Sequence[HistoryEntry]
    as_of_ms: Millis | None
