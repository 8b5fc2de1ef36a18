"""What a reader sees of a task: the record in Redis and the row in the ledger, as one view."""

from dataclasses import dataclass
from typing import TypeAlias

from msgspec import Raw

from taskmill.domain.admission import Cold
from taskmill.domain.lease import Ending, Waiting
from taskmill.domain.task import About, Millis, Status, TaskId


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskView:
    id: TaskId
    about: About
    status: Status
    generation: int
    attempt: int
    losses: int
    started_at_ms: Millis | None
    ending: Ending | None
    result: Raw | None
    waiting: Waiting | None = None
    """Why and until when it waits for its next turn, while it does."""
    cancel_requested: bool = False


@dataclass(frozen=True, slots=True)
class Absent:
    """The shard is alive and knows no such task."""


Reading: TypeAlias = TaskView | Absent | Cold
