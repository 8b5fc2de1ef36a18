"""Reports whether tasks can run, as far as the hot state shows."""

from collections.abc import Sequence

from taskmill.core.ports import Clock
from taskmill.core.task import Millis
from taskmill.core.time import in_ms
from taskmill.recovery.health import (
    REBUILD_TAKES,
    ShardHealth,
    ShardState,
    nobody_rebuilds,
    nobody_takes,
    rebuild_drags,
)
from taskmill.recovery.ports import Shards


class Readiness:
    """Remembers since when it has seen cold shards: a rebuild in progress is no problem."""

    def __init__(self, shards: Shards, clock: Clock) -> None:
        self._shards = shards
        self._clock = clock
        self._cold_since_ms: Millis | None = None

    def complaint(self) -> str | None:
        """Return why tasks cannot run; None when they can, or will soon."""
        shards = self._shards.check()
        drags = rebuild_drags(shards) if self._is_cold_for_long(shards) else None
        return nobody_rebuilds(shards) or drags or nobody_takes(shards)

    def _is_cold_for_long(self, shards: Sequence[ShardHealth]) -> bool:
        if all(one.state is ShardState.LIVE for one in shards):
            self._cold_since_ms = None
            return False
        now = self._clock()
        if self._cold_since_ms is None:
            self._cold_since_ms = now
        return now - self._cold_since_ms > in_ms(REBUILD_TAKES)
