"""Reports the depth and the age of lanes as gauges."""

from collections import defaultdict
from math import inf
from typing import Protocol

from msgspec import Struct, field

from taskmill.core.counting import Gauge
from taskmill.core.ports import Clock, Counters
from taskmill.core.task import PRIORITY_NAMES, Millis, TaskType
from taskmill.insight.shelves import ClassCounts, Shelves, of_type
from taskmill.insight.types import earliest, waits_since
from taskmill.lanes.lane import LaneCount
from taskmill.lanes.ports import Lanes
from taskmill.ledger.ports import Shelf
from taskmill.submission.ports import Catalogue


class MeasureStores(Protocol):
    """Ports for measuring."""

    @property
    def catalogue(self) -> Catalogue: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def counters(self) -> Counters: ...

    @property
    def lanes(self) -> Lanes: ...

    @property
    def shelf(self) -> Shelf: ...


class Waits(Struct):
    """Bounds the wait of the oldest task of a lane: a retry keeps its place of long ago.

    A task that an earlier look did not find there has waited since then at most.
    """

    looks: list[tuple[float, Millis]] = field(default_factory=list)
    """What was the oldest, and when; without those after which an older one was not found."""

    def since(self, oldest: Millis | None, now: Millis) -> Millis | None:
        """Return since when the oldest task has waited at most; None if none waits."""
        place = inf if oldest is None else oldest
        entered = next((at for found, at in reversed(self.looks) if found > place), None)
        while self.looks and self.looks[-1][0] <= place:
            self.looks.pop()
        self.looks.append((place, now))
        return oldest if oldest is None or entered is None else max(oldest, entered)


class LaneGauges:
    """Remembers what was not 0, so that a lane that stays empty reports nothing."""

    def __init__(self, stores: MeasureStores) -> None:
        self._stores = stores
        self._shelves = Shelves(stores)
        self._waits: defaultdict[TaskType, Waits] = defaultdict(Waits)
        self._shown: set[tuple[Gauge, tuple[str, ...]]] = set()

    def report(self) -> int:
        """Measure every live lane with its shelves; return how many tasks wait.

        While the ledger is unavailable, what is on shelves is left out.
        """
        stores = self._stores
        types = [entry.name for entry in stores.catalogue.entries()]
        shelved, waiting = self._shelves.count(), 0
        for name, count in zip(types, stores.lanes.count(types), strict=True):
            if isinstance(count, LaneCount):
                waiting += self._measure_lane(name, count, of_type(name, shelved) or {})
        stores.counters.flush()
        return waiting

    def _measure_lane(self, name: TaskType, count: LaneCount, shelved: ClassCounts) -> int:
        by_class = {
            str(PRIORITY_NAMES[one]): found.waiting + (shelved[one].waiting if shelved else 0)
            for one, found in count.classes.items()
        }
        for priority, waiting in (*by_class.items(), ("alone", count.alone.waiting)):
            self._measure(Gauge.WAITING, waiting, type=name, priority=priority)
        now = self._stores.clock()
        since = earliest(self._waits[name].since(waits_since(count), now), shelved)
        age = 0.0 if since is None else max(now - since, 1) / 1000
        self._measure(Gauge.OLDEST_WAIT, age, type=name)
        self._measure(Gauge.IN_FLIGHT, count.in_flight, type=name)
        return sum(by_class.values())

    def _measure(self, what: Gauge, value: float, **labels: str) -> None:
        series = (what, tuple(labels.values()))
        if value or series in self._shown:
            self._stores.counters.measure(what, value, **labels)
        if value:
            self._shown.add(series)
        else:
            self._shown.discard(series)
