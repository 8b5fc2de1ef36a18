"""Deletes data after its retention time, a bounded amount at a time."""

from datetime import timedelta
from typing import Protocol

from taskmill.core.counting import Count
from taskmill.core.lifetimes import Kept
from taskmill.core.ports import Counters
from taskmill.ledger.ports import Archive

_AT_A_TIME = 2_000
_MOST_TIMES = 50
_MONTHS_AHEAD = 3


class RetentionStores(Protocol):
    """Ports for deleting old rows."""

    @property
    def archive(self) -> Archive: ...

    @property
    def counters(self) -> Counters: ...


class Retention:
    def __init__(self, stores: RetentionStores, *, keeps: timedelta) -> None:
        self._stores = stores
        self._keeps = keeps

    def forget_old(self) -> int:
        """Return how much was deleted; safe to run concurrently and after a death anywhere."""
        self._stores.archive.make_months(ahead=_MONTHS_AHEAD)
        removed = {kind: self._forget(kind) for kind in Kept}
        for kind, number in removed.items():
            if number:
                self._stores.counters.count(Count.RETAINED, number, kind=kind)
        return sum(removed.values())

    def _forget(self, kind: Kept) -> int:
        removed = 0
        for _ in range(_MOST_TIMES):
            number = self._stores.archive.forget(kind, older_than=self._keeps, most=_AT_A_TIME)
            removed += number
            if number < _AT_A_TIME:
                break
        return removed
