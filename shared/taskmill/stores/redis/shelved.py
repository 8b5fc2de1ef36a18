"""Records of tasks that wait on the shelves of their lines, in Redis."""

from collections.abc import Sequence
from datetime import timedelta

from taskmill.core import codec
from taskmill.core.task import shown
from taskmill.core.time import FAR_RECORD, in_ms
from taskmill.dispatch.waiting import Unshelved, UnshelveOrder
from taskmill.lanes.lane import Member, member_of
from taskmill.stores.redis import scripts
from taskmill.stores.redis.keys import shard_keys
from taskmill.stores.redis.session import Argument, Call, Session


class RedisShelvedRecords:
    def __init__(self, session: Session, *, shards: int) -> None:
        self._session = session
        self._shards = shards
        self._shelve = scripts.load("dispatch/shelve_record")
        self._unshelve = scripts.load("dispatch/unshelve_record")

    def shelve(self, members: Sequence[Member], *, stays: timedelta) -> None:
        calls = [self._call(one, in_ms(stays), in_ms(FAR_RECORD)) for one in members]
        self._session.call(self._shelve, calls, unreadable=0)

    def unshelve(self, orders: Sequence[UnshelveOrder]) -> Sequence[Unshelved]:
        calls = [self._unshelving(order) for order in orders]
        answers = self._session.call(self._unshelve, calls, unreadable=b"COLD")
        return [Unshelved(answer.decode().lower()) for answer in answers]

    def _unshelving(self, order: UnshelveOrder) -> Call:
        envelope = order.envelope
        return self._call(
            member_of(envelope),
            envelope.attempt,
            order.token,
            order.losses,
            envelope.submission,
            envelope.submitted or envelope.generation,
            envelope.fingerprint,
            "1" if envelope.idempotency_key else "",
            codec.encode(shown(envelope)),
        )

    def _call(self, member: Member, *arguments: Argument) -> Call:
        keys = shard_keys(member.id, self._shards)
        named = (member.id, member.generation, member.turn)
        return [keys.marker, keys.record(member.id), keys.lifetimes], [*named, *arguments]
