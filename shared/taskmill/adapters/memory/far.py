"""The tasks that the ledger in memory alone keeps until their time comes near."""

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta

from taskmill.adapters.memory.ledger import MemoryLedger
from taskmill.domain.projection import Row
from taskmill.domain.retention import in_ms
from taskmill.ports.clock import Clock


class MemoryFarTasks:
    def __init__(self, ledger: Callable[[], MemoryLedger], clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock

    def coming(self, *, within: timedelta) -> Iterator[Sequence[Row]]:
        ledger = self._ledger()
        ledger.ask()
        until = self._clock() + in_ms(within)
        rows = [ledger.rows[task_id] for task_id in ledger.far_tasks]
        coming = [row for row in rows if row.body and (row.due_at_ms or 0) < until]
        if coming:
            yield sorted(coming, key=lambda row: (row.due_at_ms or 0, row.id))

    def leave(self, rows: Sequence[Row]) -> None:
        ledger = self._ledger()
        ledger.ask()
        for row in rows:
            if ledger.far_tasks.get(row.id, (0, 0)) <= (row.generation, row.turn):
                ledger.far_tasks.pop(row.id, None)
                ledger.brought_near.add(row.id)
