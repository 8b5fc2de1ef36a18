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
    """Where a submission becomes a task, once per key."""

    def admit(self, envelopes: Sequence[Envelope]) -> Sequence[Verdict]: ...

    def clear(self, published: Sequence[OwedKey]) -> Sequence[Cleared]: ...


class Records(Protocol):
    """The hot state of tasks, for readers."""

    def read(self, ids: Sequence[TaskId]) -> Sequence[Reading]: ...


class KnownTasks(Protocol):
    """What the ledger knows of tasks that were submitted before."""

    def find(self, task_id: TaskId) -> TaskView | None: ...

    def fingerprint(self, task_id: TaskId) -> str | None: ...


class Waiters(Protocol):
    """The places for requests that are held until a task ends."""

    def place(self) -> AbstractContextManager[bool]: ...


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

    def waits_since(self) -> Millis | None:
        """Return since when the oldest of what is unsent stands here."""
        ...

    def held(self, *, most: int) -> AbstractContextManager[Held]: ...


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

    def page(
        self, *, is_parked: bool, before: int | None, most: int, is_discarded: bool = False
    ) -> Sequence[Enqueued]:
        """Return those that were parked, or those that wait, the latest request first.

        Of parked ones either those that somebody discarded or the others.
        """
        ...

    def discard(self, task_id: TaskId, discard: Dismissal) -> Enqueued | None:
        """Mark the parked requests for this task as dealt with; return the one parked last."""
        ...

    def backlog(self, *, most: int) -> Backlog: ...


class Catalogue(Protocol):
    """The deployed types."""

    def entries(self) -> Sequence[TypeEntry]: ...

    def entry(self, name: str) -> TypeEntry | None: ...

    def misfit(self, name: str, payload: object) -> PayloadMisfit | None: ...


class Blobs(Protocol):
    """What is too large to travel with its task; all of it is known by `s3://bucket/key`."""

    def url(self, key: str) -> str: ...

    def upload_link(self, key: str, *, size: int, digest: str) -> Upload:
        """Return the one request that a client may write with."""
        ...

    def download_link(self, url: str) -> str: ...

    def look(self, url: str) -> Blob | None: ...

    def read(self, url: str, *, most: int) -> bytes | None:
        """Return what stands there, cut behind *most* bytes; None when nothing does."""
        ...

    def write(self, key: str, content: bytes, *, media_type: str | None = None) -> None: ...
