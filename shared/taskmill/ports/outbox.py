"""What was accepted while the log was away."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from taskmill.domain.outbox import Lost, OutboxBacklog, ParkedTask, Unsent
from taskmill.domain.task import Envelope, TaskId


class Held(Protocol):
    """Rows of the outbox that nobody else publishes meanwhile; what is marked counts at the end."""

    @property
    def rows(self) -> Sequence[Unsent]: ...

    def mark_published(self, rows: Sequence[Unsent]) -> None: ...

    def park(self, row: Unsent, reason: str) -> None: ...


class Outbox(Protocol):
    """The tasks that were accepted while the log was away; unsent, they count as ledger."""

    def has_room(self, count: int) -> bool: ...

    def add(self, envelopes: Sequence[Envelope]) -> None: ...

    def find(self, task_id: TaskId) -> Envelope | Lost | None:
        """Return what is unsent of this task, else that it was lost here."""
        ...

    def parked(self, *, most: int) -> Sequence[ParkedTask]: ...

    def backlog(self, *, most: int) -> OutboxBacklog: ...

    def unsent(self, *, after: int, most: int) -> Sequence[Unsent]: ...

    def held(self, *, most: int) -> AbstractContextManager[Held]: ...
