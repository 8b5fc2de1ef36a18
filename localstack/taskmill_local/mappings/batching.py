"""Decides which partitions go into the next batch, and when."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from taskmill_local.mappings.event import (
    Origin,
    Record,
    bytes_around,
    bytes_for,
    bytes_for_partition,
)
from taskmill_local.mappings.partition_queue import PartitionQueue


@dataclass(frozen=True, slots=True, kw_only=True)
class Batching:
    """How large a batch may be and how long it may collect."""

    count: int
    event_bytes: int
    window: timedelta
    origin: Origin

    def choose(
        self, partition_queues: Iterable[PartitionQueue], *, now: float, gather_until: float
    ) -> Sequence[PartitionQueue]:
        """Return the partition queues for the next batch, least recently served first.

        A queue that failed goes alone until it succeeds, so that its records do not fail those of
        others. All healthy queues go together, for the fewest invocations: when they fill a batch,
        or when both the window and *gather_until* have passed.
        """
        free = [partition_queue for partition_queue in partition_queues if partition_queue.is_free]
        sound = sorted(
            (partition_queue for partition_queue in free if not partition_queue.failures),
            key=lambda partition_queue: partition_queue.turn,
        )
        due = [
            partition_queue
            for partition_queue in free
            if partition_queue.failures and partition_queue.again_at <= now
        ]
        again = min(due, key=lambda partition_queue: partition_queue.turn, default=None)
        if not sound or now < self._ripe_at(sound, gather_until):
            return [again] if again else []
        return sound if again is None or sound[0].turn < again.turn else [again]

    def collect(
        self, partition_queues: Sequence[PartitionQueue], *, now: float
    ) -> dict[PartitionQueue, list[Record]]:
        count, room = self.count, self.event_bytes - bytes_around(self.origin)
        batch: dict[PartitionQueue, list[Record]] = {}
        for partition_queue in partition_queues:
            frame = bytes_for_partition(partition_queue.name)
            # A record always travels, alone in its event if it must.
            least = bytes_for(partition_queue.waiting[0]) if not batch else 0
            records = partition_queue.take(count=count, room=max(room - frame, least), now=now)
            if not records:
                break
            batch[partition_queue] = records
            count -= len(records)
            room -= frame + sum(map(bytes_for, records))
            if not count:
                break
        return batch

    def look_again_at(
        self, partition_queues: Iterable[PartitionQueue], *, gather_until: float
    ) -> float | None:
        """Return when a batch becomes due by time alone, if any does."""
        free = [partition_queue for partition_queue in partition_queues if partition_queue.is_free]
        sound = [partition_queue for partition_queue in free if not partition_queue.failures]
        times = [partition_queue.again_at for partition_queue in free if partition_queue.failures]
        if sound:
            times.append(self._ripe_at(sound, gather_until))
        return min(times, default=None)

    def _ripe_at(self, sound: Sequence[PartitionQueue], gather_until: float) -> float:
        since = min(partition_queue.waiting_since for partition_queue in sound)
        is_full = (
            sum(len(partition_queue.waiting) for partition_queue in sound) >= self.count
            or sum(partition_queue.waiting_bytes for partition_queue in sound) >= self.event_bytes
        )
        return since if is_full else max(since + self.window.total_seconds(), gather_until)
