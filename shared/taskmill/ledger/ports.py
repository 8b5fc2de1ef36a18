"""Ports for writing, reading and maintaining the ledger."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Protocol, TypeAlias

from msgspec import Struct

from taskmill.core.lifetimes import Kept
from taskmill.core.refusal import Dismissal
from taskmill.core.task import Priority, TaskId, TaskType
from taskmill.core.time import Expiry
from taskmill.core.view import TaskView
from taskmill.lanes.lane import ClassCount, Member, Shelved
from taskmill.ledger.listing import DeadPage, History, Page, TaskFilter
from taskmill.ledger.projection import LedgerBatch, Row
from taskmill.ledger.quarantine import (
    AfterRecord,
    KeptBatch,
    OpenedRecord,
    Place,
    QuarantinedRecord,
    QuarantinePage,
)

ShelfCounts: TypeAlias = Mapping[TaskType, Mapping[Priority, ClassCount]]
"""What waits on shelves, where anything does."""


class Ledger(Protocol):
    """The durable projection of all facts; only the recorder writes it."""

    def record(self, batch: LedgerBatch) -> int:
        """Write the whole *batch*; return how many late or duplicate rows changed nothing."""
        ...


class LedgerRows(Protocol):
    """The ledger for readers."""

    def find(self, task_id: TaskId) -> TaskView | None: ...

    def fingerprint(self, task_id: TaskId) -> str | None: ...

    def is_shelved(self, task_id: TaskId) -> bool:
        """Return whether it waits in the ledger only, because its line is full."""
        ...

    def payload(self, task_id: TaskId, generation: int) -> bytes | None:
        """Return the payload of this life of the task; None while it is unknown."""

    def page(self, criteria: TaskFilter) -> Page: ...

    def dead(self, criteria: TaskFilter) -> DeadPage: ...

    def history_of(self, task_id: TaskId, *, most: int) -> History: ...

    def applied(self) -> Mapping[tuple[str, int], int]: ...


class Quarantine(Protocol):
    """Records that were never a task; people mark them as discarded but never delete them."""

    def page(
        self, *, is_discarded: bool, after: AfterRecord | None, limit: int
    ) -> QuarantinePage: ...

    def find(self, place: Place) -> OpenedRecord | None: ...

    def discard(self, place: Place, discard: Dismissal) -> QuarantinedRecord | None: ...


class HeldBatches(Protocol):
    """Batches that nobody else returns meanwhile."""

    @property
    def batches(self) -> Sequence[KeptBatch]: ...

    def mark_returned(self) -> None: ...


class NewerBatches(Protocol):
    """Batches in quarantine that a newer version wrote."""

    def held(self, *, readable: int, most: int) -> AbstractContextManager[HeldBatches]: ...


class Archive(Protocol):
    """Data that is deleted some time after its end."""

    def forget(self, kind: Kept, *, older_than: timedelta, most: int) -> int: ...

    def make_months(self, *, ahead: int) -> int: ...


class FarTasks(Protocol):
    """Tasks kept only in the ledger until their time comes near."""

    def coming(self, *, within: timedelta) -> Iterable[Sequence[Row]]:
        """Return tasks due that soon, earliest first."""
        ...

    def leave(self, rows: Sequence[Row]) -> None:
        """Remove them from the far tasks, if they are still as they were read."""
        ...


class ShelvedTask(Struct, frozen=True):
    """A task of the shelf; without a row it is over, or further than its first turn."""

    place: Shelved
    row: Row | None


class Shelf(Protocol):
    """Tasks kept only in the ledger because their lines are full."""

    def last(self, *, after: str, most: int) -> Sequence[Shelved]:
        """Return the last task of each line that has tasks here: the first lines after *after*."""
        ...

    def first(self, line: str, *, most: int) -> Sequence[ShelvedTask]:
        """Return the first tasks of a line, in order; those without a submission yet wait."""
        ...

    def keep(self, places: Sequence[Shelved]) -> None: ...

    def leave(self, places: Sequence[Shelved]) -> None: ...

    def with_records(self, *, most: int) -> Sequence[Member]:
        """Return tasks here whose records were not ended yet."""
        ...

    def note_ended(self, members: Sequence[Member]) -> None:
        """Note that their records were ended."""
        ...

    def count(self, *, most: int) -> ShelfCounts:
        """Count the tasks here by type and class; *most* of all lines."""
        ...


class Expiries(Protocol):
    """Expiry times of tasks, as the ledger has them."""

    def past(self) -> Iterable[Sequence[Expiry]]:
        """Return expired entries whose tasks still wait in the ledger, oldest first."""
        ...

    def leave(self, expiries: Sequence[Expiry]) -> None:
        """Delete entries that are still as they were seen."""
        ...


class WholeRows(Protocol):
    """Complete rows, for rebuilding the hot state."""

    def restorable(self, *, finished: bool) -> Iterable[Sequence[Row]]: ...

    def unfinished(self, types: Collection[TaskType]) -> Iterable[Sequence[Row]]:
        """Return the unfinished tasks of these types, except far ones."""
        ...

    def far(self) -> Iterable[Sequence[Row]]:
        """Return what keys need of the tasks kept only in the ledger; payloads are left out."""
        ...

    def unlisted(self, ids: Sequence[TaskId]) -> Sequence[Row]:
        """Return those of *ids* that neither `restorable` nor `far` need to name."""
        ...

    def of(self, ids: Sequence[TaskId]) -> Sequence[Row]: ...

    def applied(self) -> Mapping[tuple[str, int], int]: ...
