"""Cancelling, changing and redriving, in Redis: read a task, then change it if it is unchanged."""

from collections.abc import Sequence
from typing import Any

from taskmill.core import codec
from taskmill.core.lifetimes import UNKEYED_RECORD, USUAL, Lifetimes
from taskmill.core.owed import Cold, Owed, OwedKind
from taskmill.core.task import Millis, Status, TaskId, shown
from taskmill.core.time import FAR, in_ms, said_ms
from taskmill.core.view import Absent
from taskmill.orders.control import (
    CancelOrder,
    ChangeOrder,
    Moved,
    OrderAnswer,
    Ordered,
    RedriveAnswer,
    Redriven,
    RedriveOrder,
    SnapshotAnswer,
    TaskSnapshot,
)
from taskmill.stores.redis import scripts
from taskmill.stores.redis.keys import shard_keys
from taskmill.stores.redis.records import view_of
from taskmill.stores.redis.session import Call, Session


class RedisControl:
    def __init__(
        self,
        session: Session,
        *,
        shards: int,
        lifetimes: Lifetimes = USUAL,
    ) -> None:
        self._session = session
        self._shards = shards
        self._window = in_ms(lifetimes.window)
        self._grace = in_ms(lifetimes.grace)
        self._hold = in_ms(lifetimes.hold)
        self._order_stays = in_ms(lifetimes.order_stays)
        self._snapshot = scripts.load("orders/snapshot_record")
        self._cancel = scripts.load("orders/cancel_task")
        self._redrive = scripts.load("orders/redrive_task")
        self._change = scripts.load("orders/change_task")

    def see(self, ids: Sequence[TaskId]) -> Sequence[SnapshotAnswer]:
        calls: list[Call] = []
        for task_id in ids:
            keys = shard_keys(task_id, self._shards)
            calls.append(([keys.marker, keys.record(task_id), keys.owed], [task_id]))
        answers = self._session.call(self._snapshot, calls, unreadable=[b"COLD"])
        return [_snapshot(task_id, answer) for task_id, answer in zip(ids, answers, strict=True)]

    def cancel(self, orders: Sequence[CancelOrder]) -> Sequence[OrderAnswer]:
        calls = [self._cancel_call(one) for one in orders]
        answers = self._session.call(self._cancel, calls, unreadable=[b"COLD"])
        return [_order_answer(answer) for answer in answers]

    def _cancel_call(self, order: CancelOrder) -> Call:
        stays = self._order_stays if order.seen.status is Status.SCHEDULED else 0
        return self._keys(order.id), [
            order.id,
            order.seen.generation,
            order.seen.turn,
            order.seen.status,
            codec.encode(order.ending) if order.ending else "",
            codec.encode(order.last),
            codec.encode(Owed(facts=order.facts)),
            self._hold,
            self._window,
            max(self._grace, stays),
            max(in_ms(UNKEYED_RECORD), stays),
            order.status,
            order.begins_ms,
        ]

    def redrive(self, orders: Sequence[RedriveOrder]) -> Sequence[RedriveAnswer]:
        calls = [self._redrive_call(one) for one in orders]
        answers = self._session.call(self._redrive, calls, unreadable=[b"COLD", b"0"])
        return [_redrive_answer(answer) for answer in answers]

    def _redrive_call(self, order: RedriveOrder) -> Call:
        envelope = order.envelope
        head, tail = codec.owed_around_generation(Owed(facts=order.facts, task=envelope))
        return self._keys(envelope.id), [
            envelope.id,
            envelope.generation,
            order.seen.status if order.seen else "",
            envelope.submission,
            envelope.submitted,
            envelope.fingerprint,
            "1" if envelope.idempotency_key else "",
            codec.encode(shown(envelope)),
            order.token,
            head,
            tail,
            self._hold,
            codec.encode(order.facts) if order.facts else "",
        ]

    def change(self, orders: Sequence[ChangeOrder]) -> Sequence[OrderAnswer]:
        calls = [self._change_call(one) for one in orders]
        answers = self._session.call(self._change, calls, unreadable=[b"COLD"])
        return [_order_answer(answer) for answer in answers]

    def _change_call(self, order: ChangeOrder) -> Call:
        envelope = order.envelope
        return self._keys(envelope.id), [
            envelope.id,
            order.seen.generation,
            order.seen.turn,
            order.seen.status,
            envelope.attempt,
            order.due_at_ms,
            said_ms(envelope),
            in_ms(FAR),
            self._order_stays,
            codec.encode(Owed(facts=order.facts, task=envelope)),
            codec.encode(order.facts),
            codec.encode(Owed(facts=order.facts)),
            self._hold,
            codec.encode(shown(envelope)),
            order.begins_ms,
        ]

    def _keys(self, task_id: TaskId) -> list[str]:
        keys = shard_keys(task_id, self._shards)
        return [keys.marker, keys.record(task_id), keys.due, keys.owed, keys.lifetimes]


def _snapshot(task_id: TaskId, answer: Any) -> SnapshotAnswer:
    if answer == [b"COLD"]:
        return Cold()
    if not answer:
        return Absent()
    *view, turn, token, submitted, last, submission, next_turn, facts, parked, now, unknown = answer
    owed = {
        OwedKind.SUBMISSION: submission,
        OwedKind.TURN: next_turn,
        OwedKind.FACTS: facts,
        OwedKind.PARKED: parked,
    }
    return TaskSnapshot(
        task=view_of(task_id, view),
        turn=int(turn),
        token=int(token or 0),
        submitted=int(submitted),
        last=codec.open_fact_list(last),
        now_ms=Millis(int(now)),
        restored_until_ms=Millis(int(unknown or 0)),
        owed={kind: codec.open_owed(value) for kind, value in owed.items() if value},
    )


def _order_answer(answer: Any) -> OrderAnswer:
    match answer:
        case [b"DONE", hold]:
            return Ordered(int(hold))
        case [b"MOVED"]:
            return Moved()
        case _:
            return Cold()


def _redrive_answer(answer: Any) -> RedriveAnswer:
    match answer:
        case [b"REDRIVEN", generation]:
            return Redriven(int(generation))
        case [b"MOVED", _]:
            return Moved()
        case _:
            return Cold()
