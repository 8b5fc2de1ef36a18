"""Filters and pages of task lists."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from taskmill.core.task import Millis, Status, TaskId, TaskType
from taskmill.core.view import TaskView
from taskmill.ledger.projection import HistoryEntry


class After(Struct, frozen=True):
    """Where the previous page ended."""

    at_ms: Millis
    """When it was created or, in a list of dead tasks, when it died."""
    id: TaskId


class TaskFilter(Struct, frozen=True, kw_only=True):
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


class Page(Struct, frozen=True):
    """Newest first; nothing is missing up to `as_of_ms`."""

    tasks: Sequence[TaskView]
    next: After | None
    as_of_ms: Millis | None


class DeadLetter(Struct, frozen=True):
    """A dead task, with the time of its first failure in its generation."""

    task: TaskView
    first_failed_at_ms: Millis


class DeadPage(Struct, frozen=True):
    """Latest death first."""

    letters: Sequence[DeadLetter]
    next: After | None
    as_of_ms: Millis | None


class History(Struct, frozen=True):
    """The latest part of a task's history in the ledger, oldest first."""

    entries: Sequence[HistoryEntry]
    as_of_ms: Millis | None
