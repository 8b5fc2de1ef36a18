"""Where tasks wait for a worker that takes their type, in memory."""

from collections.abc import Sequence
from datetime import timedelta

from msgspec.structs import replace

from taskmill.adapters.memory.hot import MemoryHot
from taskmill.domain.admission import Owed, OwedKey, OwedKind
from taskmill.domain.parking import (
    PATIENCE_WITH_A_TYPE,
    PUT_IN_LINE_AGAIN_AFTER,
    Parked,
)
from taskmill.domain.retention import in_ms
from taskmill.domain.task import Millis, Status
from taskmill.domain.wire import Sealed

_WAITS = frozenset({Status.QUEUED, Status.RETRYING, Status.SCHEDULED})


class MemoryParking:
    def __init__(
        self,
        hot: MemoryHot,
        *,
        patience: timedelta = PATIENCE_WITH_A_TYPE,
        again_after: timedelta = PUT_IN_LINE_AGAIN_AFTER,
    ) -> None:
        self._hot = hot
        self._patience = in_ms(patience)
        self._again_after = in_ms(again_after)

    def park(self, waiting: Sequence[Sealed]) -> Sequence[Parked]:
        return [self._park(one) for one in waiting]

    def _park(self, waiting: Sealed) -> Parked:
        if not self._hot.is_open:
            return Parked.COLD
        now = self._hot.clock()
        envelope = waiting.envelope
        record = self._hot.record(envelope.id)
        if record is not None and record.generation >= envelope.generation:
            is_this_turn = (record.generation, record.turn) == (envelope.generation, envelope.turn)
            if not is_this_turn or record.status not in _WAITS:
                return Parked.OVER
        until = envelope.parked_until_ms
        latest = Millis(now + self._patience) if until is None else until
        if latest <= now:
            return Parked.OVER
        owed = Owed(task=replace(envelope, parked_until_ms=latest))
        slot = now // self._again_after + 1
        name = OwedKey(
            id=envelope.id,
            generation=envelope.generation,
            turn=envelope.turn,
            kind=OwedKind.PARKED,
            slot=slot,
        )
        self._hot.due[name] = (slot * self._again_after, owed)
        if record is not None and record.generation == envelope.generation:
            record.parked = slot
        return Parked.PARKED
