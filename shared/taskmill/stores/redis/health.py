"""Health of the shards and the lanes, in Redis."""

from collections.abc import Sequence

from taskmill.lanes.lane import lane_of
from taskmill.recovery.health import LaneHealth, ShardHealth, ShardState
from taskmill.stores.redis import scripts
from taskmill.stores.redis.keys import ShardKeys, lane_keys
from taskmill.stores.redis.session import Call, Session
from taskmill.submission.ports import Catalogue


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


class RedisLaneStates:
    def __init__(self, session: Session, catalogue: Catalogue) -> None:
        self._session = session
        self._catalogue = catalogue
        self._check = scripts.load("recovery/check_lane")

    def check(self) -> Sequence[LaneHealth]:
        types = [entry.name for entry in self._catalogue.entries()]
        every = [lane_keys(lane_of(one)) for one in types]
        calls: list[Call] = [([keys.marker, keys.rebuild], []) for keys in every]
        answers = zip(types, self._session.call(self._check, calls), strict=True)
        return [
            LaneHealth(type=one, state=ShardState(state.decode().lower())) for one, state in answers
        ]
