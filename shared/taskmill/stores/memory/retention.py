"""Retention, in memory, where the history has no monthly partitions."""

from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

from taskmill.core.lifetimes import AT_LEAST_KEPT, Kept
from taskmill.core.ports import Clock
from taskmill.core.time import in_ms
from taskmill.stores.memory.enqueued import EnqueuedRow, MemoryRequests
from taskmill.stores.memory.ledger import MemoryLedger
from taskmill.stores.memory.outbox import MemoryOutbox

K = TypeVar("K")
V = TypeVar("V")


class MemoryArchive:
    def __init__(
        self,
        ledger: Callable[[], MemoryLedger],
        outbox: MemoryOutbox,
        requests: MemoryRequests,
        clock: Clock,
    ) -> None:
        self._ledger = ledger
        self._outbox = outbox
        self._requests = requests
        self._clock = clock

    def forget(self, kind: Kept, *, older_than: timedelta, most: int) -> int:
        before = self._clock() - in_ms(max(older_than, AT_LEAST_KEPT))
        ledger = self._ledger()
        ledger.ask()
        match kind:
            case Kept.TASKS:
                return _take(ledger.rows, lambda row: (row.finished_at_ms or before) < before, most)
            case Kept.HISTORY:
                return _take(ledger.history, lambda entry: entry.at_ms < before, most)
            case Kept.QUARANTINE:
                return _take(ledger.quarantined, lambda lost: lost.at_ms < before, most)
            case Kept.OUTBOX:
                published = [one for one in self._outbox.kept if one.is_published][:most]
                self._outbox.kept = [one for one in self._outbox.kept if one not in published]
                return len(published)
            case Kept.ENQUEUED:
                over = [one for one in self._requests.kept if _ended_before(one, before)][:most]
                self._requests.kept = [one for one in self._requests.kept if one not in over]
                return len(over)

    def make_months(self, *, ahead: int) -> int:  # noqa: ARG002 - the port's parameter name
        return 0


def _ended_before(one: EnqueuedRow, before: int) -> bool:
    ended_at_ms = one.row.parked.at_ms if one.row.parked else one.done_at_ms
    return ended_at_ms is not None and ended_at_ms < before


def _take(entries: dict[K, V], is_old: Callable[[V], bool], most: int) -> int:
    old = [name for name, value in entries.items() if is_old(value)][:most]
    for name in old:
        del entries[name]
    return len(old)
