"""What can be seen of a mapping from outside."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingSnapshot:
    function: str
    topic: str
    lag: Mapping[int, int]
    """Per partition that is ours and was looked at: records between the last commit and the end."""

    waiting: int
    """The records that were read and not yet given to the function."""

    in_flight: int
    """The batches that the function has now."""

    batches: int
    records: int
    failures: int
    last_error: str | None
    backing_off: Mapping[int, timedelta]
    """Per partition whose last batch failed: how long it still waits."""
