"""Requests that stand in a table until they are tasks."""

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Protocol

from taskmill.domain.enqueued import Backlog, Enqueue, Enqueued, LookBack
from taskmill.domain.refusal import Refusal
from taskmill.domain.task import TaskId


class HeldRequests(Protocol):
    """Rows that nobody else takes meanwhile; what is said of them counts at the end."""

    @property
    def rows(self) -> Sequence[Enqueued]: ...

    def look_back(self, rows: Sequence[Enqueued]) -> LookBack:
        """Ask the ledger, which stands beside them, whether these were taken long ago."""
        ...

    def mark_done(self, rows: Sequence[Enqueued]) -> None: ...

    def park(self, row: Enqueued, why: Refusal) -> None: ...

    def put_off(self, rows: Sequence[Enqueued], by: timedelta) -> None: ...


class Requests(Protocol):
    """What was enqueued: waiting until it is a task or parked for ever, then kept for a time."""

    def add(self, requests: Sequence[Enqueue]) -> None: ...

    def is_any_waiting(self) -> bool: ...

    def held(self, *, most: int) -> AbstractContextManager[HeldRequests]: ...

    def take_up(self, types: Collection[str], *, parked_within: timedelta) -> int:
        """Let those wait again that were parked for want of a type which is now known."""
        ...

    def find(self, task_id: TaskId) -> Enqueued | None:
        """Return a request for this task that waits, else the one that was parked last."""
        ...

    def page(self, *, is_parked: bool, before: int | None, most: int) -> Sequence[Enqueued]:
        """Return those that were parked, or those that wait, the latest request first."""
        ...

    def backlog(self, *, most: int) -> Backlog: ...
