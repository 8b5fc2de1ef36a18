"""Aggregates over the ledger, in memory."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from taskmill.core.lifetimes import WINDOW_BEHIND
from taskmill.core.ports import Clock
from taskmill.core.task import Millis, Priority, Status
from taskmill.core.time import in_ms
from taskmill.insight.statistics import Depth, Figures
from taskmill.ledger.projection import Row
from taskmill.stores.memory.ledger import MemoryLedger

_MINUTE_MS = 60_000


class MemoryFigures:
    def __init__(self, ledger: MemoryLedger, clock: Clock, *, most: int = 50_000) -> None:
        self._ledger = ledger
        self._clock = clock
        self._most = most

    def figures(self) -> Figures:
        self._ledger.ask()
        since = self._clock() - _MINUTE_MS
        history = self._ledger.history.values()
        recent = Counter((one.type, one.kind) for one in history if one.at_ms > since)
        young, noted = self._young(), self._noted()
        seen = [*young[: self._most], *noted[: self._most]]
        return Figures(
            depths=self._depths([row for row in seen if not row.status.is_final]),
            is_complete=max(len(young), len(noted)) < self._most,
            facts_of_last_minute=dict(recent),
            as_of_ms=self._ledger.as_of_ms(),
        )

    def _young(self) -> list[Row]:
        """Return tasks that the window has not passed yet, youngest first, including ended ones."""
        young = [row for row in self._ledger.rows.values() if not self._is_passed(row)]
        return sorted(young, key=_created_at, reverse=True)

    def _noted(self) -> list[Row]:
        passed = filter(self._is_passed, self._ledger.rows.values())
        return [row for row in passed if not row.status.is_final]

    def _is_passed(self, row: Row) -> bool:
        return _created_at(row) <= self._clock() - in_ms(WINDOW_BEHIND)

    def _depths(self, waiting: Sequence[Row]) -> Sequence[Depth]:
        alike = defaultdict(list)
        for row in waiting:
            alike[row.type, row.status, _priority(row)].append(
                _queued_since(row, now=self._clock())
            )
        return [
            Depth(
                type=name,
                status=status,
                priority=priority,
                tasks=len(moments),
                in_line=len([one for one in moments if one is not None]),
                waits_since_ms=min((one for one in moments if one is not None), default=None),
            )
            for (name, status, priority), moments in alike.items()
        ]


def _priority(row: Row) -> Priority:
    return row.spec.priority if row.spec else Priority.NORMAL


def _queued_since(row: Row, *, now: Millis) -> Millis | None:
    if row.status is Status.QUEUED:
        return Millis(row.generation)
    return row.due_at_ms if row.due_at_ms is not None and row.due_at_ms <= now else None


def _created_at(row: Row) -> int:
    return row.spec.created_at_ms if row.spec else 0
