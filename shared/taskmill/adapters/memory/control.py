"""Cancelling and redriving, in memory."""

from collections.abc import Sequence
from datetime import timedelta

from msgspec.structs import replace

from taskmill.adapters.memory.hot import MemoryHot, MemoryRecords, Record, record_of
from taskmill.domain.admission import Cold, Owed, OwedKey, OwedKind
from taskmill.domain.control import (
    CancelAnswer,
    CancelOrder,
    Moment,
    Moved,
    RedriveAnswer,
    Redriven,
    RedriveOrder,
    Sight,
    Sighting,
)
from taskmill.domain.lease import Ending
from taskmill.domain.records import TaskView
from taskmill.domain.retention import HOLD, KEY_GRACE, KEY_WINDOW, UNKEYED_RECORD, in_ms
from taskmill.domain.task import Status, TaskId


class MemoryControl:
    def __init__(
        self,
        hot: MemoryHot,
        *,
        window: timedelta = KEY_WINDOW,
        grace: timedelta = KEY_GRACE,
        hold: timedelta = HOLD,
    ) -> None:
        self._hot = hot
        self._views = MemoryRecords(hot)
        self._window = in_ms(window)
        self._grace = in_ms(grace)
        self._hold = in_ms(hold)

    def see(self, ids: Sequence[TaskId]) -> Sequence[Sight]:
        return [self._see(task_id) for task_id in ids]

    def _see(self, task_id: TaskId) -> Sight:
        (view,) = self._views.read([task_id])
        record = self._hot.record(task_id)
        if not isinstance(view, TaskView) or record is None:
            return view if not isinstance(view, TaskView) else Cold()
        names = {kind: _name(task_id, record, kind) for kind in OwedKind}
        return Sighting(
            task=view,
            turn=record.turn,
            token=record.token,
            submitted=record.submitted,
            last=record.last,
            owed={
                kind: self._hot.due[name][1]
                for kind, name in names.items()
                if name in self._hot.due
            },
        )

    def cancel(self, orders: Sequence[CancelOrder]) -> Sequence[CancelAnswer]:
        return [self._cancel(order) for order in orders]

    def _cancel(self, order: CancelOrder) -> CancelAnswer:
        if not self._hot.is_open:
            return CancelAnswer.COLD
        record = self._hot.record(order.id)
        if record is None or _moment(record) != order.seen or record.cancel_requested:
            return CancelAnswer.MOVED
        owed = (self._hot.clock() + self._hold, Owed(facts=order.facts))
        self._hot.due[_name(order.id, record, OwedKind.FACTS)] = owed
        if order.ending is None:
            record.cancel_requested = True
        else:
            self._end(order, record, order.ending)
        return CancelAnswer.DONE

    def _end(self, order: CancelOrder, record: Record, ending: Ending) -> None:
        self._hot.due.pop(_name(order.id, record, OwedKind.TURN), None)
        record.status, record.last, record.ending = Status.CANCELLED, order.facts, ending
        record.holding, record.dropped = None, set()
        now = self._hot.clock()
        if record.is_keyed:
            expires = max(now + self._grace, record.submitted + self._window)
            self._hot.lifetimes[order.id] = expires
        else:
            record.ends_at_ms = now + in_ms(UNKEYED_RECORD)

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


def _moment(record: Record) -> Moment:
    return Moment(record.generation, record.turn, record.status)


def _name(task_id: TaskId, record: Record, kind: OwedKind) -> OwedKey:
    slot = record.parked if kind is OwedKind.PARKED else 0
    return OwedKey(id=task_id, generation=record.generation, turn=record.turn, kind=kind, slot=slot)
