"""Repairs of records, in Redis."""

from collections.abc import Sequence
from datetime import timedelta

from taskmill.adapters.redis import scripts
from taskmill.adapters.redis.keys import shard_keys
from taskmill.adapters.redis.rebuild import fields_of
from taskmill.adapters.redis.session import Call, Session
from taskmill.domain import wire
from taskmill.domain.lease import LEASE
from taskmill.domain.reconciliation import RepairAnswer, RepairOrder
from taskmill.domain.retention import KEY_GRACE, KEY_WINDOW, UNKEYED_RECORD, in_ms


class RedisRepairs:
    def __init__(
        self,
        session: Session,
        *,
        shards: int,
        lease: timedelta = LEASE,
        window: timedelta = KEY_WINDOW,
        grace: timedelta = KEY_GRACE,
    ) -> None:
        self._session = session
        self._shards = shards
        self._lease = in_ms(lease)
        self._window = in_ms(window)
        self._grace = in_ms(grace)
        self._repair = scripts.load("repair_record")

    def repair(self, orders: Sequence[RepairOrder]) -> Sequence[RepairAnswer]:
        answers = self._session.call(self._repair, [self._call(order) for order in orders])
        return [RepairAnswer(answer.decode().lower()) for answer in answers]

    def _call(self, order: RepairOrder) -> Call:
        row, task, seen = order.view.row, order.view.envelope, order.seen
        keys = shard_keys(task.id, self._shards)
        return [keys.marker, keys.record(task.id), keys.due, keys.owed, keys.lifetimes], [
            task.id,
            "" if seen is None else seen.generation,
            "" if seen is None else seen.turn,
            "" if seen is None else seen.status,
            task.generation,
            task.turn,
            row.status,
            row.largest_token,
            row.losses,
            "1" if row.cancel_requested else "",
            "" if order.due_at_ms is None else order.due_at_ms,
            wire.encode(order.view.owed),
            self._lease,
            self._window,
            self._grace,
            in_ms(UNKEYED_RECORD),
            *fields_of(order.view),
        ]
