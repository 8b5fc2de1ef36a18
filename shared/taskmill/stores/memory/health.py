"""Health of the one shard, in memory."""

from collections.abc import Sequence

from taskmill.recovery.health import ShardHealth, ShardState
from taskmill.stores.memory.hot import UNLISTED, MemoryHot


class MemoryShards:
    def __init__(self, hot: MemoryHot) -> None:
        self._hot = hot

    def check(self) -> Sequence[ShardHealth]:
        now = self._hot.clock()
        if not self._hot.is_open:
            is_rebuilt = self._hot.rebuild is not None and self._hot.rebuild[1] > now
            return [ShardHealth(state=ShardState.REBUILDING if is_rebuilt else ShardState.COLD)]
        moments = [at for at, _ in self._hot.due.values()]
        return [
            ShardHealth(
                state=ShardState.LIVE,
                overdue_ms=max(0, now - min(moments, default=now)),
                unlisted=moments.count(UNLISTED),
            )
        ]
