"""Counts what waits on shelves, by type and class, at most every few seconds."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final, Protocol, TypeAlias

from taskmill.core.errors import StoreUnavailable
from taskmill.core.ports import Clock
from taskmill.core.task import Millis, Priority, TaskType
from taskmill.core.time import in_ms
from taskmill.lanes.lane import ClassCount
from taskmill.ledger.ports import Shelf, ShelfCounts

KEPT: Final = timedelta(seconds=3)
MOST_COUNTED: Final = 2_000_000
_REST_PER_COST: Final = 20
"""A long count is kept for longer: counting takes at most a twentieth of the ledger's time."""

ClassCounts: TypeAlias = Mapping[Priority, ClassCount]


class ShelvesStores(Protocol):
    """Ports for counting shelves."""

    @property
    def clock(self) -> Clock: ...

    @property
    def shelf(self) -> Shelf: ...


class Shelves:
    def __init__(self, stores: ShelvesStores) -> None:
        self._stores = stores
        self._latest: ShelfCounts = {}
        self._kept: range = range(0)

    def count(self) -> ShelfCounts | None:
        """Return what was on shelves a moment ago; None while the ledger is unavailable."""
        if self._stores.clock() not in self._kept:
            try:
                self._count()
            except StoreUnavailable:
                return None
        return self._latest

    def _count(self) -> None:
        began = self._stores.clock()
        self._latest = self._stores.shelf.count(most=MOST_COUNTED)
        now = self._stores.clock()
        self._kept = range(now, now + max(in_ms(KEPT), (now - began) * _REST_PER_COST))


def of_type(name: TaskType, counts: ShelfCounts | None) -> ClassCounts | None:
    """Return what is on the shelves of a type, each class; None if that is unknown."""
    if counts is None:
        return None
    found = counts.get(name, {})
    return {one: found.get(one, ClassCount(0, None)) for one in Priority}


def oldest(counts: ClassCounts | None) -> Millis | None:
    """Return since when the oldest of them has waited."""
    orders = [one.oldest_order for one in (counts or {}).values() if one.oldest_order is not None]
    return Millis(min(orders) // 1000) if orders else None
