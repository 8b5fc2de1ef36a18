"""Reports whether tasks can run, as far as the hot state shows."""

from collections.abc import Sequence

from taskmill.core.ports import Clock
from taskmill.core.task import Millis
from taskmill.core.time import in_ms
from taskmill.recovery.health import (
    REBUILD_TAKES,
    LaneHealth,
    ShardHealth,
    ShardState,
    cold_lanes,
    nobody_rebuilds,
    nobody_takes,
    rebuild_drags,
)
from taskmill.recovery.ports import LaneStates, Shards


class Readiness:
    """Remembers since when it has seen something cold: a rebuild in progress is no problem.

    Nor is the lane of a type that the scheduler gets to know a little later.
    """

    def __init__(self, shards: Shards, lanes: LaneStates, clock: Clock) -> None:
        self._shards = shards
        self._lanes = lanes
        self._clock = clock
        self._cold_since_ms: Millis | None = None

    def complaint(self) -> str | None:
        """Return why tasks cannot run; None when they can, or will soon."""
        shards, lanes = self._shards.check(), self._lanes.check()
        is_long = self._is_cold_for_long([*shards, *lanes])
        drags = rebuild_drags(shards) or cold_lanes(lanes) if is_long else None
        return nobody_rebuilds(shards) or drags or nobody_takes(shards)

    def _is_cold_for_long(self, parts: Sequence[ShardHealth | LaneHealth]) -> bool:
        if all(one.state is ShardState.LIVE for one in parts):
            self._cold_since_ms = None
            return False
        now = self._clock()
        if self._cold_since_ms is None:
            self._cold_since_ms = now
        return now - self._cold_since_ms > in_ms(REBUILD_TAKES)
