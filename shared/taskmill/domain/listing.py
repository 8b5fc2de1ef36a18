"""What a list of tasks is asked for, and a page of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from taskmill.domain.records import TaskView
from taskmill.domain.task import Millis, Status, TaskId, TaskType


@dataclass(frozen=True, slots=True)
class After:
    """Where the page before ended."""

    created_at_ms: Millis
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


@dataclass(frozen=True, slots=True)
class Page:
    """Newest first; `as_of_ms` is the newest moment of the log that the ledger shows."""

    tasks: Sequence[TaskView]
    next: After | None
    as_of_ms: Millis | None
