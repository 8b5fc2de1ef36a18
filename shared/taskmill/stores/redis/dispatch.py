"""Delayed and parked tasks, in Redis."""

from collections.abc import Sequence
from datetime import timedelta

from taskmill.core import codec
from taskmill.core.codec import RawEnvelope
from taskmill.core.lifetimes import USUAL, Lifetimes
from taskmill.core.owed import Owed
from taskmill.core.task import shown
from taskmill.core.time import in_ms, said_ms
from taskmill.dispatch.waiting import (
    PATIENCE_WITH_A_TYPE,
    REQUEUE_AFTER,
    Delayed,
    DelayOrder,
    ParkAnswer,
)
from taskmill.stores.redis import scripts
from taskmill.stores.redis.keys import shard_keys
from taskmill.stores.redis.session import Call, Session


class RedisDelays:
    def __init__(
        self,
        session: Session,
        *,
        shards: int,
        lifetimes: Lifetimes = USUAL,
    ) -> None:
        self._session = session
        self._shards = shards
        self._far = in_ms(lifetimes.far)
        self._record_stays = in_ms(lifetimes.record_stays)
        self._adoption_age = in_ms(lifetimes.adoption_age)
        self._delay = scripts.load("dispatch/delay_task")

    def delay(self, orders: Sequence[DelayOrder]) -> Sequence[Delayed]:
        calls = [self._call(order) for order in orders]
        answers = self._session.call(self._delay, calls, unreadable=b"FORGOTTEN")
        return [Delayed(answer.decode().lower()) for answer in answers]

    def _call(self, order: DelayOrder) -> Call:
        envelope = order.envelope
        keys = shard_keys(envelope.id, self._shards)
        record = keys.record(envelope.id)
        return [keys.marker, record, keys.due, keys.owed, keys.lifetimes], [
            envelope.id,
            envelope.generation,
            envelope.turn,
            envelope.attempt,
            order.due_at_ms,
            "" if order.from_ledger else said_ms(envelope),
            self._far,
            self._record_stays,
            b'{"task":%b}' % order.raw if order.raw else codec.encode(Owed(task=envelope)),
            self._adoption_age,
            order.token,
            order.losses,
            envelope.submission,
            envelope.submitted or envelope.generation,
            envelope.fingerprint,
            "1" if envelope.idempotency_key else "",
            codec.encode(shown(envelope)),
        ]


class RedisParking:
    def __init__(
        self,
        session: Session,
        *,
        shards: int,
        patience: timedelta = PATIENCE_WITH_A_TYPE,
        again_after: timedelta = REQUEUE_AFTER,
    ) -> None:
        self._session = session
        self._shards = shards
        self._patience = in_ms(patience)
        self._again_after = in_ms(again_after)
        self._park = scripts.load("dispatch/park_turn")

    def park(self, waiting: Sequence[RawEnvelope]) -> Sequence[ParkAnswer]:
        answers = self._session.call(self._park, [self._call(one) for one in waiting])
        return [ParkAnswer(answer.decode().lower()) for answer in answers]

    def _call(self, waiting: RawEnvelope) -> Call:
        envelope = waiting.envelope
        keys = shard_keys(envelope.id, self._shards)
        until = envelope.parked_until_ms
        return [keys.marker, keys.record(envelope.id), keys.due, keys.owed], [
            envelope.id,
            envelope.generation,
            envelope.turn,
            "" if until is None else until,
            self._patience,
            self._again_after,
            codec.tail_without(waiting, "parked_until_ms"),
        ]
