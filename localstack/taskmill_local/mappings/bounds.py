"""First and next offsets of a mapping's partitions, learned from its fetches."""

from collections.abc import Callable, Iterable
from operator import itemgetter

from confluent_kafka import Consumer, TopicPartition

_REFRESH_SECONDS = 1.0  # a few fetches


class Bounds:
    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._known: dict[int, tuple[int, int]] = {}
        self._stale_until: dict[int, float] = {}

    def of(self, partition: int) -> tuple[int, int] | None:
        """Return the first and next offset of a partition from a recent fetch."""
        return self._known.get(partition)

    def forget(self, places: Iterable[TopicPartition]) -> None:
        for place in places:
            if self._known.pop(place.partition, None):
                # It was assigned to us before; the client's memory of it may be outdated.
                self._stale_until[place.partition] = self._clock() + _REFRESH_SECONDS

    def look(self, consumer: Consumer, places: Iterable[TopicPartition]) -> None:
        for place in places:
            if self._clock() < self._stale_until.get(place.partition, 0.0):
                continue
            bounds = consumer.get_watermark_offsets(place, cached=True)
            earlier = self._known.get(place.partition, bounds)
            newest = max(bounds, earlier, key=itemgetter(1))  # the end never moves back
            if newest[1] >= 0:  # below zero: nothing was fetched yet
                self._known[place.partition] = newest
