"""What was never a task, or was written by a newer version."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from taskmill.domain.quarantine import (
    AfterRecord,
    Discard,
    KeptParcel,
    OpenedRecord,
    Place,
    QuarantinedRecord,
    QuarantinePage,
)


class Quarantine(Protocol):
    """The records that were never a task; none is removed, some are marked as discarded."""

    def page(
        self, *, is_discarded: bool, after: AfterRecord | None, limit: int
    ) -> QuarantinePage: ...

    def find(self, place: Place) -> OpenedRecord | None: ...

    def discard(self, place: Place, discard: Discard) -> QuarantinedRecord | None: ...


class HeldParcels(Protocol):
    """Parcels that nobody else puts back meanwhile."""

    @property
    def parcels(self) -> Sequence[KeptParcel]: ...

    def mark_returned(self) -> None: ...


class NewerParcels(Protocol):
    """The parcels in quarantine that a newer version wrote."""

    def held(self, *, readable: int, most: int) -> AbstractContextManager[HeldParcels]: ...
