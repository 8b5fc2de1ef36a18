"""Repairs of records, in memory."""

from collections.abc import Sequence
from datetime import timedelta

from taskmill.adapters.memory.hot import Holding, MemoryHot, Record
from taskmill.adapters.memory.rebuild import written
from taskmill.domain.control import Moment
from taskmill.domain.lease import LEASE
from taskmill.domain.reconciliation import RepairAnswer, RepairOrder
from taskmill.domain.retention import KEY_GRACE, KEY_WINDOW, in_ms


class MemoryRepairs:
    def __init__(
        self,
        hot: MemoryHot,
        *,
        lease: timedelta = LEASE,
        window: timedelta = KEY_WINDOW,
        grace: timedelta = KEY_GRACE,
    ) -> None:
        self._hot = hot
        self._lease = in_ms(lease)
        self._window = window
        self._grace = grace

    def repair(self, orders: Sequence[RepairOrder]) -> Sequence[RepairAnswer]:
        return [self._repair(order) for order in orders]

    def _repair(self, order: RepairOrder) -> RepairAnswer:
        if not self._hot.is_open:
            return RepairAnswer.COLD
        known = self._hot.record(order.view.envelope.id)
        if _moment_of(known) != order.seen:
            return RepairAnswer.MOVED
        record = written(self._hot, order.view, window=self._window, grace=self._grace)
        if known is not None:
            record.token = max(record.token, known.token)
            if known.generation == record.generation:
                record.losses = max(record.losses, known.losses)
        if not record.status.is_final:
            until = self._hot.clock() + self._lease
            record.holding = Holding(until_ms=until, limit_ms=None, source="", process="")
            record.cancel_requested = order.view.row.cancel_requested
            if order.due_at_ms is not None:
                self._hot.due.setdefault(order.view.name, (order.due_at_ms, order.view.owed))
        return RepairAnswer.DONE


def _moment_of(record: Record | None) -> Moment | None:
    return Moment(record.generation, record.turn, record.status) if record else None
