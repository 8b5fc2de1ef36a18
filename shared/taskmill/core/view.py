"""One view of a task, from its record in Redis or its row in the ledger."""

from typing import TypeAlias

from msgspec import Raw, Struct

from taskmill.core.owed import Cold
from taskmill.core.pointers import Pointer
from taskmill.core.task import Millis, ShownSpec, Status, TaskId
from taskmill.core.time import due_ms


class Ending(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a generation ended, kept in the record for readers."""

    finished_at_ms: Millis
    reason: str | None = None
    error_class: str | None = None
    error_message: str | None = None
    stack: str | None = None
    result_ref: Pointer | None = None


class Waiting(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a task waits for its next turn, kept in the record for readers."""

    due_at_ms: Millis
    reason: str
    error_class: str | None = None
    error_message: str | None = None
    stack: str | None = None


class TaskView(Struct, frozen=True, kw_only=True):
    id: TaskId
    spec: ShownSpec
    status: Status
    generation: int
    attempt: int
    losses: int
    started_at_ms: Millis | None
    ending: Ending | None
    result: Raw | None
    waiting: Waiting | None = None
    """Why and until when it waits for its next turn, if it waits."""
    cancel_requested: bool = False
    first_started_at_ms: Millis | None = None
    """When it started for the first time, if that was not its latest start."""

    @property
    def run_at_ms(self) -> Millis | None:
        """Return the start time that was asked for, if any."""
        spec = self.spec
        return due_ms(spec.timing, generation=self.generation, created_at_ms=spec.created_at_ms)

    @property
    def due_at_ms(self) -> Millis | None:
        """Return until when it waits, if it waits for a time."""
        if self.status is Status.SCHEDULED:
            return self.run_at_ms
        return None if self.waiting is None else self.waiting.due_at_ms


class Absent(Struct, frozen=True):
    """The shard is live and has no such task."""


Reading: TypeAlias = TaskView | Absent | Cold


class ReadRefused(Struct, frozen=True):
    """The accepted request will not become a task; carries the refusal."""

    code: str
    detail: str
    pointer: str | None


class Nowhere(Struct, frozen=True):
    """No such task: neither store has it, and the ledger has read the whole log."""

    refused: ReadRefused | None = None
    """Why there will be none, although a client asked for it and may have its id."""


class Unsure(Struct, frozen=True):
    """The answer is unknown for now; *why* is for people."""

    why: str
    is_away: bool = False
    """A store does not respond, which may take longer than a moment."""

    is_behind: bool = False
    """The ledger has not read it yet, which takes only a moment."""


Finding: TypeAlias = TaskView | Nowhere | Unsure
