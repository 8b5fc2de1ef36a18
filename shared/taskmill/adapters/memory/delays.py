"""Tasks that wait for their time, in memory."""

from collections.abc import Sequence
from datetime import timedelta

from taskmill.adapters.memory.hot import MemoryHot, Record, record_of
from taskmill.domain.admission import Owed, OwedKey, OwedKind
from taskmill.domain.delay import FAR, FAR_RECORD, Delayed, DelayOrder, said_ms
from taskmill.domain.retention import ADOPTION_AGE, in_ms
from taskmill.domain.task import Status, TaskId


class MemoryDelays:
    def __init__(
        self,
        hot: MemoryHot,
        *,
        far: timedelta = FAR,
        record_stays: timedelta = FAR_RECORD,
        adoption_age: timedelta = ADOPTION_AGE,
    ) -> None:
        self._hot = hot
        self._far = in_ms(far)
        self._record_stays = in_ms(record_stays)
        self._adoption_age = in_ms(adoption_age)

    def delay(self, orders: Sequence[DelayOrder]) -> Sequence[Delayed]:
        return [self._delay(order) for order in orders]

    def _delay(self, order: DelayOrder) -> Delayed:
        if not self._hot.is_open:
            return Delayed.COLD
        envelope, record = order.envelope, self._hot.record(order.envelope.id)
        refusal = self._refusal(order, record)
        if refusal is not None:
            return refusal
        moment = (envelope.generation, envelope.turn)
        if record is None or (record.generation, record.turn) != moment or record.is_key_alone:
            record = self._made(order, record)
        now = self._hot.clock()
        if order.due_at_ms - (now if order.from_ledger else said_ms(envelope)) > self._far:
            if order.due_at_ms - now > self._far:
                let_end(self._hot, envelope.id, record, after=self._record_stays)
            return Delayed.FAR
        record.ends_at_ms = None
        self._hot.lifetimes.pop(envelope.id, None)
        name = OwedKey(
            id=envelope.id,
            generation=envelope.generation,
            turn=envelope.turn,
            kind=OwedKind.TURN,
        )
        self._hot.due.setdefault(name, (order.due_at_ms, Owed(task=envelope)))
        return Delayed.NEAR

    def _refusal(self, order: DelayOrder, record: Record | None) -> Delayed | None:
        envelope = order.envelope
        if record is None:
            age = self._hot.clock() - envelope.generation
            is_too_old = not order.from_ledger and age > self._adoption_age
            return Delayed.FORGOTTEN if is_too_old else None
        if record.generation != envelope.generation:
            return Delayed.OVER if record.generation > envelope.generation else None
        is_another = record.turn == envelope.turn and record.status is not Status.SCHEDULED
        is_over = record.status.is_final or record.turn > envelope.turn or is_another
        return Delayed.OVER if is_over else None

    def _made(self, order: DelayOrder, known: Record | None) -> Record:
        self._hot.remove(order.envelope.id)
        self._hot.records[order.envelope.id] = record = record_of(order.envelope)
        record.status = Status.SCHEDULED
        record.token, record.losses = order.token, order.losses
        if known is not None:
            record.token = max(record.token, known.token)
            if known.generation == record.generation:
                record.losses = max(record.losses, known.losses)
        return record


def let_end(hot: MemoryHot, task_id: TaskId, record: Record, *, after: int) -> None:
    """Let the record of a task end that the ledger alone keeps; what its key needs stays."""
    if record.is_keyed:
        hot.lifetimes[task_id] = hot.clock() + after
    else:
        record.ends_at_ms = hot.clock() + after
