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
from taskmill_local.mappings.lane import Lane


@dataclass(frozen=True, slots=True, kw_only=True)
class Batching:
    """How large a batch may be and how long it may collect."""

    count: int
    event_bytes: int
    window: timedelta
    origin: Origin

    def choose(self, lanes: Iterable[Lane], *, now: float, gather_until: float) -> Sequence[Lane]:
        """Return the partition queues for the next batch, least recently served first.

        A queue that failed goes alone until it succeeds, so that its records do not fail those of
        others. All healthy queues go together, for the fewest invocations: when they fill a batch,
        or when both the window and *gather_until* have passed.
        """
        free = [lane for lane in lanes if lane.is_free]
        sound = sorted((lane for lane in free if not lane.failures), key=lambda lane: lane.turn)
        due = [lane for lane in free if lane.failures and lane.again_at <= now]
        again = min(due, key=lambda lane: lane.turn, default=None)
        if not sound or now < self._ripe_at(sound, gather_until):
            return [again] if again else []
        return sound if again is None or sound[0].turn < again.turn else [again]

    def collect(self, lanes: Sequence[Lane], *, now: float) -> dict[Lane, list[Record]]:
        count, room = self.count, self.event_bytes - bytes_around(self.origin)
        batch: dict[Lane, list[Record]] = {}
        for lane in lanes:
            frame = bytes_for_partition(lane.name)
            # A record always travels, alone in its event if it must.
            least = bytes_for(lane.waiting[0]) if not batch else 0
            taken = lane.take(count=count, room=max(room - frame, least), now=now)
            if not taken:
                break
            batch[lane] = taken
            count -= len(taken)
            room -= frame + sum(map(bytes_for, taken))
            if not count:
                break
        return batch

    def look_again_at(self, lanes: Iterable[Lane], *, gather_until: float) -> float | None:
        """Return when a batch becomes due by time alone, if any does."""
        free = [lane for lane in lanes if lane.is_free]
        sound = [lane for lane in free if not lane.failures]
        times = [lane.again_at for lane in free if lane.failures]
        if sound:
            times.append(self._ripe_at(sound, gather_until))
        return min(times, default=None)

    def _ripe_at(self, sound: Sequence[Lane], gather_until: float) -> float:
        opened = min(lane.waiting_since for lane in sound)
        is_full = (
            sum(len(lane.waiting) for lane in sound) >= self.count
            or sum(lane.waiting_bytes for lane in sound) >= self.event_bytes
        )
        return opened if is_full else max(opened + self.window.total_seconds(), gather_until)
