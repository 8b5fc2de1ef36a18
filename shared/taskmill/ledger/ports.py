"""The ledger as it is written, read and kept."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Protocol

from taskmill.core.lifetimes import Kept
from taskmill.core.refusal import Dismissal
from taskmill.core.task import TaskId
from taskmill.core.time import Expiry
from taskmill.core.view import TaskView
from taskmill.ledger.listing import DeadPage, History, Page, TaskFilter
from taskmill.ledger.projection import LedgerBatch, Row
from taskmill.ledger.quarantine import (
    AfterRecord,
    KeptParcel,
    OpenedRecord,
    Place,
    QuarantinedRecord,
    QuarantinePage,
)


class Ledger(Protocol):
    """The durable projection of all facts; only the recorder writes it."""

    def record(self, batch: LedgerBatch) -> int:
        """Write *batch* whole; return how many rows came late or twice, and changed nothing."""
        ...


class LedgerRows(Protocol):
    """The ledger, for readers."""

    def find(self, task_id: TaskId) -> TaskView | None: ...

    def fingerprint(self, task_id: TaskId) -> str | None: ...

    def payload(self, task_id: TaskId, generation: int) -> bytes | None:
        """Return the payload of this life of the task; None while it is not known."""

    def page(self, wanted: TaskFilter) -> Page: ...

    def dead(self, wanted: TaskFilter) -> DeadPage: ...

    def history_of(self, task_id: TaskId, *, most: int) -> History: ...

    def applied(self) -> Mapping[tuple[str, int], int]: ...


class Quarantine(Protocol):
    """The records that were never a task; none is removed, some are marked as discarded."""

    def page(
        self, *, is_discarded: bool, after: AfterRecord | None, limit: int
    ) -> QuarantinePage: ...

    def find(self, place: Place) -> OpenedRecord | None: ...

    def discard(self, place: Place, discard: Dismissal) -> QuarantinedRecord | None: ...


class HeldParcels(Protocol):
    """Parcels that nobody else puts back meanwhile."""

    @property
    def parcels(self) -> Sequence[KeptParcel]: ...

    def mark_returned(self) -> None: ...


class NewerParcels(Protocol):
    """The parcels in quarantine that a newer version wrote."""

    def held(self, *, readable: int, most: int) -> AbstractContextManager[HeldParcels]: ...


class Archive(Protocol):
    """What is kept for a time after its end."""

    def forget(self, kind: Kept, *, older_than: timedelta, most: int) -> int: ...

    def make_months(self, *, ahead: int) -> int: ...


class FarTasks(Protocol):
    """The tasks that the ledger alone keeps until their time comes near."""

    def coming(self, *, within: timedelta) -> Iterable[Sequence[Row]]:
        """Give those whose time comes so near, the next ones first."""
        ...

    def leave(self, rows: Sequence[Row]) -> None:
        """Keep them no longer as such, where they are still as they were seen."""
        ...


class Expiries(Protocol):
    """Until when tasks must have begun, as the ledger has it."""

    def past(self) -> Iterable[Sequence[Expiry]]:
        """Give those that are over and whose tasks still wait there, the longest ones first."""
        ...

    def leave(self, expiries: Sequence[Expiry]) -> None:
        """Keep them no longer, where they are still as they were seen."""
        ...


class WholeRows(Protocol):
    """The rows as they were told, for those who make the hot state anew."""

    def restorable(self, *, finished: bool) -> Iterable[Sequence[Row]]: ...

    def far(self) -> Iterable[Sequence[Row]]:
        """Give what keys name of the tasks that it alone keeps; their payloads do not count."""
        ...

    def unlisted(self, ids: Sequence[TaskId]) -> Sequence[Row]:
        """Return those of *ids* that neither `restorable` nor `far` need name."""
        ...

    def of(self, ids: Sequence[TaskId]) -> Sequence[Row]: ...

    def applied(self) -> Mapping[tuple[str, int], int]: ...
