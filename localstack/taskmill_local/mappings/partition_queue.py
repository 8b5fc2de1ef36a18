"""One partition: waiting, in-flight and completed records."""

from collections import deque
from collections.abc import Iterable, Sequence

from taskmill_local.mappings.event import Record, bytes_for
from taskmill_local.mappings.limits import Limits


class PartitionQueue:
    """The records of one partition, in order, with at most one batch in flight."""

    def __init__(self, partition: int, *, name: str, committed: int | None) -> None:
        self.partition = partition
        self.name = name
        self.waiting: deque[Record] = deque()
        self.waiting_bytes = 0
        self.waiting_since = 0.0
        self.is_in_flight = False
        self.is_leaving = False
        self.is_paused = False
        self.turn = 0
        self.failures = 0
        self.again_at = 0.0
        self.done: int | None = None
        self.requested: int | None = None
        self.committed = committed
        self._expected = -1
        self._retried = 0

    @property
    def is_free(self) -> bool:
        return bool(self.waiting) and not self.is_in_flight and not self.is_leaving

    def append(self, records: Iterable[Record], *, now: float) -> None:
        """Add fetched records; skip those fetched before."""
        fresh = [record for record in records if record.offset >= self._expected]
        if not fresh:
            return
        if not self.waiting:
            self.waiting_since = now
        self.waiting.extend(fresh)
        self.waiting_bytes += sum(map(bytes_for, fresh))
        self._expected = fresh[-1].offset + 1

    def take(self, *, count: int, room: int, now: float) -> list[Record]:
        """Remove the next records for a batch: at most *count* records and *room* bytes."""
        # A failed batch is retried unchanged: one that grows while it fails may never succeed.
        count = min(count, self._retried or count)
        records: list[Record] = []
        while self.waiting and len(records) < count:
            size = bytes_for(self.waiting[0])
            if size > room:
                break
            room -= size
            self.waiting_bytes -= size
            records.append(self.waiting.popleft())
        if records:
            self.waiting_since = now
        return records

    def succeed(self, records: Sequence[Record]) -> None:
        self.done = records[-1].offset + 1
        self.failures = 0
        self._retried = 0

    def fail(
        self, records: Sequence[Record], *, again_from: int, now: float, limits: Limits
    ) -> int:
        """Put back the records to retry and return their number; everything before them is done."""
        again = [record for record in records if record.offset >= again_from]
        if len(again) < len(records):
            self.succeed(records[: -len(again)])
        self.waiting.extendleft(reversed(again))
        self.waiting_bytes += sum(map(bytes_for, again))
        self._retried = len(again)
        self.failures += 1
        self.again_at = now + limits.delay_after(self.failures).total_seconds()
        return len(again)

    def is_full(self, limits: Limits) -> bool:
        return self.waiting_bytes > limits.buffer_bytes or len(self.waiting) > limits.buffer_records

    def is_half_empty(self, limits: Limits) -> bool:
        return (
            self.waiting_bytes * 2 <= limits.buffer_bytes
            and len(self.waiting) * 2 <= limits.buffer_records
        )
