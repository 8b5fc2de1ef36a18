"""Tasks that wait for their time, in Redis."""

from collections.abc import Sequence
from datetime import timedelta

from taskmill.adapters.redis import scripts
from taskmill.adapters.redis.keys import shard_keys
from taskmill.adapters.redis.session import Call, Session
from taskmill.domain import wire
from taskmill.domain.admission import Owed
from taskmill.domain.delay import FAR, FAR_RECORD, Delayed, DelayOrder, said_ms
from taskmill.domain.retention import ADOPTION_AGE, in_ms
from taskmill.domain.task import about


class RedisDelays:
    def __init__(
        self,
        session: Session,
        *,
        shards: int,
        far: timedelta = FAR,
        record_stays: timedelta = FAR_RECORD,
        adoption_age: timedelta = ADOPTION_AGE,
    ) -> None:
        self._session = session
        self._shards = shards
        self._far = in_ms(far)
        self._record_stays = in_ms(record_stays)
        self._adoption_age = in_ms(adoption_age)
        self._delay = scripts.load("delay_task")

    def delay(self, orders: Sequence[DelayOrder]) -> Sequence[Delayed]:
        answers = self._session.call(self._delay, [self._call(order) for order in orders])
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
            b'{"task":%b}' % order.raw if order.raw else wire.encode(Owed(task=envelope)),
            self._adoption_age,
            order.token,
            order.losses,
            envelope.submission,
            envelope.submitted or envelope.generation,
            envelope.fingerprint,
            "1" if envelope.idempotency_key else "",
            wire.encode(about(envelope)),
        ]
