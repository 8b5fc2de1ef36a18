"""Sums over the ledger in memory."""

from collections import Counter

from taskmill.adapters.memory.ledger import MemoryLedger
from taskmill.domain.statistics import Depth, Figures
from taskmill.domain.task import Millis
from taskmill.ports.clock import Clock

_MINUTE_MS = 60_000


class MemoryFigures:
    def __init__(self, ledger: MemoryLedger, clock: Clock, *, most: int = 50_000) -> None:
        self._ledger = ledger
        self._clock = clock
        self._most = most

    def figures(self) -> Figures:
        self._ledger.ask()
        rows = [row for row in self._ledger.rows.values() if not row.status.is_final]
        seen = rows[: self._most]
        since = self._clock() - _MINUTE_MS
        recent = Counter(one.kind for one in self._ledger.history.values() if one.at_ms > since)
        return Figures(
            depths=[
                Depth(
                    type=name,
                    status=status,
                    tasks=tasks,
                    eldest_ms=Millis(
                        min(
                            row.generation
                            for row in seen
                            if (row.type, row.status) == (name, status)
                        )
                    ),
                )
                for (name, status), tasks in Counter((row.type, row.status) for row in seen).items()
            ],
            is_complete=len(self._ledger.rows) < self._most,
            facts_of_last_minute=dict(recent),
            as_of_ms=self._ledger.as_of_ms(),
        )
