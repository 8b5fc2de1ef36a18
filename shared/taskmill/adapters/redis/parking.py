"""Where tasks wait for a worker that takes their type, in Redis."""

from collections.abc import Sequence
from datetime import timedelta

from taskmill.adapters.redis import scripts
from taskmill.adapters.redis.keys import shard_keys
from taskmill.adapters.redis.session import Call, Session
from taskmill.domain import wire
from taskmill.domain.parking import (
    PATIENCE_WITH_A_TYPE,
    PUT_IN_LINE_AGAIN_AFTER,
    Parked,
)
from taskmill.domain.retention import in_ms
from taskmill.domain.wire import Sealed


class RedisParking:
    def __init__(
        self,
        session: Session,
        *,
        shards: int,
        patience: timedelta = PATIENCE_WITH_A_TYPE,
        again_after: timedelta = PUT_IN_LINE_AGAIN_AFTER,
    ) -> None:
        self._session = session
        self._shards = shards
        self._patience = in_ms(patience)
        self._again_after = in_ms(again_after)
        self._park = scripts.load("park_turn")

    def park(self, waiting: Sequence[Sealed]) -> Sequence[Parked]:
        answers = self._session.call(self._park, [self._call(one) for one in waiting])
        return [Parked(answer.decode().lower()) for answer in answers]

    def _call(self, waiting: Sealed) -> Call:
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
            wire.tail_without(waiting, "parked_until_ms"),
        ]
