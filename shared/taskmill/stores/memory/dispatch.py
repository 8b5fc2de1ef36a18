"""Delayed and parked tasks, in memory."""

from collections.abc import Sequence
from datetime import timedelta

from msgspec.structs import replace

from taskmill.core.codec import RawEnvelope
from taskmill.core.lifetimes import USUAL, Lifetimes
from taskmill.core.owed import Owed, OwedKey, OwedKind
from taskmill.core.task import Millis, Status, TaskId
from taskmill.core.time import FAR_RECORD, in_ms, said_ms
from taskmill.dispatch.waiting import (
    PATIENCE_WITH_A_TYPE,
    REQUEUE_AFTER,
    Delayed,
    DelayOrder,
    ParkAnswer,
    Unshelved,
    UnshelveOrder,
)
from taskmill.lanes.lane import Member, member_of
from taskmill.stores.memory.hot import MemoryHot, Record, record_of


class MemoryDelays:
    def __init__(
        self,
        hot: MemoryHot,
        *,
        lifetimes: Lifetimes = USUAL,
    ) -> None:
        self._hot = hot
        self._far = in_ms(lifetimes.far)
        self._record_stays = in_ms(lifetimes.record_stays)
        self._adoption_age = in_ms(lifetimes.adoption_age)

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
            record = _made(self._hot, order, record)
            record.status = Status.SCHEDULED
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


def _made(hot: MemoryHot, order: DelayOrder | UnshelveOrder, known: Record | None) -> Record:
    """Make a record from an order, which replaces the known one."""
    hot.remove(order.envelope.id)
    hot.records[order.envelope.id] = record = record_of(order.envelope)
    record.token, record.losses = order.token, order.losses
    if known is not None:
        record.token = max(record.token, known.token)
        if known.generation == record.generation:
            record.losses = max(record.losses, known.losses)
    return record


def let_end(hot: MemoryHot, task_id: TaskId, record: Record, *, after: int) -> None:
    """End the record of a task that only the ledger keeps; what its key needs stays."""
    if record.is_keyed:
        hot.lifetimes[task_id] = hot.clock() + after
    else:
        record.ends_at_ms = hot.clock() + after


class MemoryShelvedRecords:
    def __init__(self, hot: MemoryHot) -> None:
        self._hot = hot

    def shelve(self, members: Sequence[Member], *, stays: timedelta) -> None:
        for member in members if self._hot.is_open else ():
            record = self._hot.record(member.id)
            if record is not None and self._may_end(record, member):
                record.is_shelved = True
                least = FAR_RECORD if record.is_deferred and not record.is_keyed else timedelta()
                let_end(self._hot, member.id, record, after=in_ms(max(stays, least)))

    def unshelve(self, orders: Sequence[UnshelveOrder]) -> Sequence[Unshelved]:
        return [self._unshelve(order) for order in orders]

    def _may_end(self, record: Record, member: Member) -> bool:
        is_waiting = _waits_for(record, member) and record.is_shelved is not False
        until_ms = record.holding.until_ms if record.holding else 0
        return is_waiting and until_ms <= self._hot.clock()

    def _unshelve(self, order: UnshelveOrder) -> Unshelved:
        if not self._hot.is_open:
            return Unshelved.COLD
        envelope = order.envelope
        record = self._hot.record(envelope.id)
        if record is not None and _runs(record, member_of(envelope)):
            return Unshelved.QUEUED
        is_known = record is not None and record.generation >= envelope.generation
        if record is not None and is_known and not _waits_for(record, member_of(envelope)):
            return Unshelved.OVER
        if record is None or not is_known or record.is_key_alone:
            record = _made(self._hot, order, record)
        record.is_shelved = False
        record.ends_at_ms = None
        self._hot.lifetimes.pop(envelope.id, None)
        return Unshelved.QUEUED


def _runs(record: Record, member: Member) -> bool:
    is_same = (record.generation, record.turn) == (member.generation, member.turn)
    return is_same and record.status is Status.RUNNING


def _waits_for(record: Record, member: Member) -> bool:
    """Return whether the record waits for this turn."""
    is_same = (record.generation, record.turn) == (member.generation, member.turn)
    return is_same and record.status is Status.QUEUED


_WAITS = frozenset({Status.QUEUED, Status.RETRYING, Status.SCHEDULED})


class MemoryParking:
    def __init__(
        self,
        hot: MemoryHot,
        *,
        patience: timedelta = PATIENCE_WITH_A_TYPE,
        again_after: timedelta = REQUEUE_AFTER,
    ) -> None:
        self._hot = hot
        self._patience = in_ms(patience)
        self._again_after = in_ms(again_after)

    def park(self, waiting: Sequence[RawEnvelope]) -> Sequence[ParkAnswer]:
        return [self._park(one) for one in waiting]

    def _park(self, waiting: RawEnvelope) -> ParkAnswer:
        if not self._hot.is_open:
            return ParkAnswer.COLD
        now = self._hot.clock()
        envelope = waiting.envelope
        record = self._hot.record(envelope.id)
        if record is not None and record.generation >= envelope.generation:
            is_this_turn = (record.generation, record.turn) == (envelope.generation, envelope.turn)
            if not is_this_turn or record.status not in _WAITS:
                return ParkAnswer.OVER
        until = envelope.parked_until_ms
        latest = Millis(now + self._patience) if until is None else until
        if latest <= now:
            return ParkAnswer.OVER
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
        return ParkAnswer.PARKED
