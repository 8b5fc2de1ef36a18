"""What a reader sees of a task: the record in Redis and the row in the ledger, as one view."""

from typing import TypeAlias

from msgspec import Raw, Struct

from taskmill.domain.admission import Cold
from taskmill.domain.delay import due_ms
from taskmill.domain.lease import Ending, Waiting
from taskmill.domain.task import About, Millis, Status, TaskId


class TaskView(Struct, frozen=True, kw_only=True):
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

    @property
    def run_at_ms(self) -> Millis | None:
        """Return when it was to begin, if a time was said."""
        about = self.about
        return due_ms(about.timing, generation=self.generation, created_at_ms=about.created_at_ms)

    @property
    def due_at_ms(self) -> Millis | None:
        """Return until when it waits, while it waits for a time."""
        if self.status is Status.SCHEDULED:
            return self.run_at_ms
        return None if self.waiting is None else self.waiting.due_at_ms


class Absent(Struct, frozen=True):
    """The shard is alive and knows no such task."""


Reading: TypeAlias = TaskView | Absent | Cold
