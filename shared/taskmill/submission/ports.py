"""Ports of submission."""

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Protocol

from taskmill.core.owed import Cleared, OwedKey
from taskmill.core.pointers import Blob, Upload
from taskmill.core.refusal import Dismissal, Refusal
from taskmill.core.task import Envelope, Millis, TaskId
from taskmill.core.view import Reading, TaskView
from taskmill.submission.admission import Verdict
from taskmill.submission.catalogue import PayloadMisfit, TypeEntry
from taskmill.submission.enqueued import Backlog, Enqueue, Enqueued, LookBack
from taskmill.submission.outbox import Lost, OutboxBacklog, ParkedTask, Unsent


class Admission(Protocol):
    """Turns submissions into tasks, once per key."""

    def admit(self, envelopes: Sequence[Envelope]) -> Sequence[Verdict]: ...

    def clear(self, published: Sequence[OwedKey]) -> Sequence[Cleared]: ...


class Records(Protocol):
    """The hot state of tasks, for readers."""

    def read(self, ids: Sequence[TaskId]) -> Sequence[Reading]: ...


class KnownTasks(Protocol):
    """What the ledger knows of tasks submitted earlier."""

    def find(self, task_id: TaskId) -> TaskView | None: ...

    def fingerprint(self, task_id: TaskId) -> str | None: ...


class Waiters(Protocol):
    """Slots for requests that wait until a task ends."""

    def place(self) -> AbstractContextManager[bool]: ...


class HeldRows(Protocol):
    """Outbox rows that nobody else publishes meanwhile; marks are committed at the end."""

    @property
    def rows(self) -> Sequence[Unsent]: ...

    def mark_published(self, rows: Sequence[Unsent]) -> None: ...

    def park(self, row: Unsent, reason: str) -> None: ...


class Outbox(Protocol):
    """Tasks accepted while the log was unavailable; unsent ones count as part of the ledger."""

    def has_room(self, count: int) -> bool: ...

    def add(self, envelopes: Sequence[Envelope]) -> None: ...

    def find(self, task_id: TaskId) -> Envelope | Lost | None:
        """Return the unsent row of this task, or that the log refused it."""
        ...

    def parked(self, *, most: int) -> Sequence[ParkedTask]: ...

    def backlog(self, *, most: int) -> OutboxBacklog: ...

    def unsent(self, *, after: int, most: int) -> Sequence[Unsent]: ...

    def waits_since(self) -> Millis | None:
        """Return since when the oldest unsent row has waited."""
        ...

    def held(self, *, most: int) -> AbstractContextManager[HeldRows]: ...


class HeldRequests(Protocol):
    """Rows that nobody else takes meanwhile; results are committed at the end."""

    @property
    def rows(self) -> Sequence[Enqueued]: ...

    def look_back(self, rows: Sequence[Enqueued]) -> LookBack:
        """Ask the ledger, in the same database, whether these were taken long ago."""
        ...

    def mark_done(self, rows: Sequence[Enqueued]) -> None: ...

    def park(self, row: Enqueued, why: Refusal) -> None: ...

    def put_off(self, rows: Sequence[Enqueued], by: timedelta) -> None: ...


class Requests(Protocol):
    """Enqueued requests: waiting until they become tasks or are parked, then kept for a while."""

    def add(self, requests: Sequence[Enqueue]) -> None: ...

    def is_any_waiting(self) -> bool: ...

    def held(self, *, most: int) -> AbstractContextManager[HeldRequests]: ...

    def take_up(self, types: Collection[str], *, parked_within: timedelta) -> int:
        """Requeue requests that were parked because their type was unknown and is now known."""
        ...

    def find(self, task_id: TaskId) -> Enqueued | None:
        """Return a waiting request for this task, otherwise the latest parked one."""
        ...

    def page(
        self, *, is_parked: bool, before: int | None, most: int, is_discarded: bool = False
    ) -> Sequence[Enqueued]:
        """Return parked or waiting requests, latest first.

        For parked ones, either the discarded ones or the others.
        """
        ...

    def discard(self, task_id: TaskId, discard: Dismissal) -> Enqueued | None:
        """Mark the parked requests for this task as dealt with; return the latest one."""
        ...

    def backlog(self, *, most: int) -> Backlog: ...


class Catalogue(Protocol):
    """The deployed types."""

    def entries(self) -> Sequence[TypeEntry]: ...

    def entry(self, name: str) -> TypeEntry | None: ...

    def misfit(self, name: str, payload: object) -> PayloadMisfit | None: ...


class Blobs(Protocol):
    """Objects too large to travel with their task, addressed by `s3://bucket/key`."""

    def url(self, key: str) -> str: ...

    def upload_link(self, key: str, *, size: int, digest: str) -> Upload:
        """Return the one request with which a client may upload it."""
        ...

    def download_link(self, url: str) -> str: ...

    def look(self, url: str) -> Blob | None: ...

    def read(self, url: str, *, most: int) -> bytes | None:
        """Return the object, truncated after *most* bytes; None when there is none."""
        ...

    def write(self, key: str, content: bytes, *, media_type: str | None = None) -> None: ...
