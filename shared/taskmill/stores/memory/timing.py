"""Far tasks and expiries, in memory."""

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta

from taskmill.core.ports import Clock
from taskmill.core.time import Expiry, in_ms
from taskmill.ledger.projection import Row
from taskmill.stores.memory.ledger import MemoryLedger, waits_to_begin


class MemoryFarTasks:
    def __init__(self, ledger: Callable[[], MemoryLedger], clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock

    def coming(self, *, within: timedelta) -> Iterator[Sequence[Row]]:
        ledger = self._ledger()
        ledger.ask()
        until = self._clock() + in_ms(within)
        rows = [ledger.rows[task_id] for task_id in ledger.far_tasks]
        coming = [row for row in rows if row.spec and (row.due_at_ms or 0) < until]
        if coming:
            yield sorted(coming, key=lambda row: (row.due_at_ms or 0, row.id))

    def leave(self, rows: Sequence[Row]) -> None:
        ledger = self._ledger()
        ledger.ask()
        for row in rows:
            if ledger.far_tasks.get(row.id, (0, 0)) <= (row.generation, row.turn):
                ledger.far_tasks.pop(row.id, None)
                ledger.brought_near.add(row.id)


class MemoryExpiries:
    def __init__(self, ledger: Callable[[], MemoryLedger], clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock

    def past(self) -> Iterator[Sequence[Expiry]]:
        ledger = self._ledger()
        ledger.ask()
        over = [
            Expiry(id=task_id, expires_at_ms=at)
            for task_id, at in ledger.expiries.items()
            if at < self._clock()
        ]
        waiting = [one for one in over if waits_to_begin(ledger.rows[one.id])]
        self.leave([one for one in over if one not in waiting])
        if waiting:
            yield sorted(waiting, key=lambda one: (one.expires_at_ms, one.id))

    def leave(self, expiries: Sequence[Expiry]) -> None:
        ledger = self._ledger()
        ledger.ask()
        for one in expiries:
            if ledger.expiries.get(one.id) == one.expires_at_ms:
                del ledger.expiries[one.id]
