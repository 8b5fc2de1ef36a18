"""Health of the shards, in Redis."""

from collections.abc import Sequence

from taskmill.recovery.health import ShardHealth, ShardState
from taskmill.stores.redis import scripts
from taskmill.stores.redis.keys import ShardKeys
from taskmill.stores.redis.session import Call, Session


class RedisShards:
    def __init__(self, session: Session, *, shards: int) -> None:
        self._session = session
        self._check = scripts.load("recovery/check_shard")
        every = [ShardKeys(shard, shards) for shard in range(shards)]
        self._calls: list[Call] = [
            ([keys.marker, keys.rebuild, keys.due, keys.owed], []) for keys in every
        ]

    def check(self) -> Sequence[ShardHealth]:
        return [
            ShardHealth(
                state=ShardState(state.decode().lower()),
                overdue_ms=int(overdue),
                unlisted=unlisted,
            )
            for state, overdue, unlisted in self._session.call(self._check, self._calls)
        ]
