"""Cancelling, changing and redriving, in memory."""

from collections.abc import Sequence

from msgspec.structs import replace

from taskmill.core.lifetimes import UNKEYED_RECORD, USUAL, Lifetimes
from taskmill.core.owed import Cold, Owed, OwedKey, OwedKind
from taskmill.core.task import Millis, Status, TaskId, shown
from taskmill.core.time import FAR, in_ms, said_ms
from taskmill.core.view import Ending, TaskView
from taskmill.orders.control import (
    CancelOrder,
    ChangeOrder,
    Moment,
    Moved,
    OrderAnswer,
    Ordered,
    RedriveAnswer,
    Redriven,
    RedriveOrder,
    SnapshotAnswer,
    TaskSnapshot,
)
from taskmill.stores.memory.dispatch import let_end
from taskmill.stores.memory.hot import MemoryHot, MemoryRecords, Record, record_of


class MemoryControl:
    def __init__(
        self,
        hot: MemoryHot,
        *,
        lifetimes: Lifetimes = USUAL,
    ) -> None:
        self._hot = hot
        self._views = MemoryRecords(hot)
        self._window = in_ms(lifetimes.window)
        self._grace = in_ms(lifetimes.grace)
        self._hold = in_ms(lifetimes.hold)
        self._order_stays = in_ms(lifetimes.order_stays)

    def see(self, ids: Sequence[TaskId]) -> Sequence[SnapshotAnswer]:
        return [self._see(task_id) for task_id in ids]

    def _see(self, task_id: TaskId) -> SnapshotAnswer:
        (view,) = self._views.read([task_id])
        record = self._hot.record(task_id)
        if not isinstance(view, TaskView) or record is None:
            return view if not isinstance(view, TaskView) else Cold()
        names = {kind: _name(task_id, record, kind) for kind in OwedKind}
        return TaskSnapshot(
            task=view,
            turn=record.turn,
            token=record.token,
            submitted=record.submitted,
            last=record.last,
            now_ms=Millis(self._hot.clock()),
            owed={
                kind: self._hot.due[name][1]
                for kind, name in names.items()
                if name in self._hot.due
            },
            restored_until_ms=Millis(_restored_until(record)),
        )

    def cancel(self, orders: Sequence[CancelOrder]) -> Sequence[OrderAnswer]:
        return [self._cancel(order) for order in orders]

    def _cancel(self, order: CancelOrder) -> OrderAnswer:
        if not self._hot.is_open:
            return Cold()
        record = self._hot.record(order.id)
        if record is None or _moment(record) != order.seen or record.cancel_requested:
            return Moved()
        if self._may_run(record, order.begins_ms) is not (order.ending is None):
            return Moved()
        name = _name(order.id, record, OwedKind.FACTS)
        held, _ = self._hot.due.get(name, (0, None))
        hold = max(self._hot.clock() + self._hold, held + 1)
        self._hot.due[name] = (hold, Owed(facts=order.facts))
        if order.ending is None:
            record.cancel_requested = True
        else:
            self._end(order, record, order.ending)
        return Ordered(hold)

    def _end(self, order: CancelOrder, record: Record, ending: Ending) -> None:
        self._hot.due.pop(_name(order.id, record, OwedKind.TURN), None)
        record.status, record.last, record.ending = order.status, order.last, ending
        record.holding = None
        now = self._hot.clock()
        stays = self._order_stays if order.seen.status is Status.SCHEDULED else 0
        if record.is_keyed:
            grace = max(self._grace, stays)
            expires = max(now + grace, record.submitted + self._window)
            self._hot.lifetimes[order.id] = expires
        else:
            record.ends_at_ms = now + max(in_ms(UNKEYED_RECORD), stays)

    def redrive(self, orders: Sequence[RedriveOrder]) -> Sequence[RedriveAnswer]:
        return [self._redrive(order) for order in orders]

    def _redrive(self, order: RedriveOrder) -> RedriveAnswer:
        if not self._hot.is_open:
            return Cold()
        record = self._hot.record(order.envelope.id)
        if (record and _moment(record)) != order.seen:
            return Moved()
        now = self._hot.clock()
        envelope = replace(order.envelope, generation=max(now, order.envelope.generation + 1))
        self._hot.remove(envelope.id)
        self._hot.records[envelope.id] = fresh = record_of(envelope)
        fresh.token = max(record.token if record else 0, order.token)
        fresh.last = order.facts
        owed = (now + self._hold, Owed(facts=order.facts, task=envelope))
        self._hot.due[_name(envelope.id, fresh, OwedKind.SUBMISSION)] = owed
        return Redriven(envelope.generation)

    def change(self, orders: Sequence[ChangeOrder]) -> Sequence[OrderAnswer]:
        return [self._change(order) for order in orders]

    def _change(self, order: ChangeOrder) -> OrderAnswer:
        if not self._hot.is_open:
            return Cold()
        envelope = order.envelope
        record = self._hot.record(envelope.id)
        if record is None or _moment(record) != order.seen or record.cancel_requested:
            return Moved()
        if record.is_key_alone or self._is_restored(record, order.begins_ms):
            return Moved()
        self._hot.due.pop(_name(envelope.id, record, OwedKind.TURN), None)
        record.turn, record.attempt = order.seen.turn + 1, envelope.attempt
        record.status, record.spec, record.last = Status.SCHEDULED, shown(envelope), order.facts
        record.holding, record.unreported = None, ()
        record.waiting, record.parked = None, 0
        hold = self._hot.clock() + self._hold
        owed = Owed(facts=order.facts)
        self._hot.due[_name(envelope.id, record, OwedKind.FACTS)] = (hold, owed)
        if order.due_at_ms - said_ms(envelope) > in_ms(FAR):
            let_end(self._hot, envelope.id, record, after=self._order_stays)
        else:
            record.ends_at_ms = None
            self._hot.lifetimes.pop(envelope.id, None)
            turn = _name(envelope.id, record, OwedKind.TURN)
            self._hot.due[turn] = (order.due_at_ms, Owed(facts=order.facts, task=envelope))
        return Ordered(hold)

    def _may_run(self, record: Record, begins_ms: int) -> bool:
        """Return whether somebody runs it, or may: the holder of a restored lease is unknown."""
        return record.status is Status.RUNNING or self._is_restored(record, begins_ms)

    def _is_restored(self, record: Record, begins_ms: int) -> bool:
        return _restored_until(record) > max(self._hot.clock(), begins_ms - 1)


def _restored_until(record: Record) -> int:
    holding = record.holding
    return holding.until_ms if holding is not None and holding.source is None else 0


def _moment(record: Record) -> Moment:
    return Moment(record.generation, record.turn, record.status)


def _name(task_id: TaskId, record: Record, kind: OwedKind) -> OwedKey:
    slot = record.parked if kind is OwedKind.PARKED else 0
    return OwedKey(id=task_id, generation=record.generation, turn=record.turn, kind=kind, slot=slot)
