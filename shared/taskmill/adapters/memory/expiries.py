"""Until when tasks must have begun, by the ledger in memory."""

from collections.abc import Callable, Iterator, Sequence

from taskmill.adapters.memory.ledger import MemoryLedger, waits_to_begin
from taskmill.domain.delay import Expiry
from taskmill.ports.clock import Clock


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
