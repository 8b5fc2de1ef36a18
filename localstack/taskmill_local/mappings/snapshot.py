"""The visible state of a mapping."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from taskmill.core import topics


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingSnapshot:
    function: str
    topic: str
    lag: Mapping[int, int]
    """Per assigned partition: records between the last commit and the end, once known."""

    waiting: int
    """Records that were read but not yet passed to the function."""

    in_flight: int
    """Batches in flight."""

    batches: int
    records: int
    failures: int
    last_error: str | None
    backing_off: Mapping[int, timedelta]
    """Per partition whose last batch failed: how long it still has to wait."""

    @property
    def backlog(self) -> int:
        """The records that wait to be processed; those of a worker topic only start a process."""
        return 0 if topics.type_of(self.topic) else sum(self.lag.values())
