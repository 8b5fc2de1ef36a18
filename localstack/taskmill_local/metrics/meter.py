"""Aggregates the metrics that functions print among their log lines."""

import time
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Final, TypeAlias

import msgspec

from taskmill.core.counting import BUCKETS, TABLE, Count, Counted, Gauge, Span, bounded

Labels: TypeAlias = tuple[tuple[str, str], ...]

_MARK: Final = b'{"_aws":'
_FRESH_SECONDS: Final = 30.0
"""A value other than 0 that nobody repeats for so long is not known any more."""

_NOT_OURS: Final = (
    msgspec.DecodeError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    RecursionError,
)
_BY_NAME: Final[Mapping[str, Counted]] = {str(what): what for what in TABLE}


@dataclass(slots=True)
class Histogram:
    within: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))
    """Observations above the previous bound, up to and including this one."""

    seconds: float = 0.0

    def add(self, times: Sequence[float]) -> None:
        self.seconds += sum(times)
        for seconds in times:
            self.within[bisect_left(BUCKETS, seconds)] += 1


@dataclass(frozen=True, slots=True)
class _Reported:
    what: Counted
    labels: Labels
    value: Any


class Meter:
    """Takes only our own metrics: those of a worker stay in its log."""

    def __init__(
        self, types: Collection[str | None] = (), *, now: Callable[[], float] = time.monotonic
    ) -> None:
        self.sums: dict[Count, dict[Labels, int]] = {}
        self.histograms: dict[Span, dict[Labels, Histogram]] = {}
        self._types = types
        self._now = now
        self._gauges: dict[Gauge, dict[Labels, tuple[float, float]]] = {}

    def values(self, what: Gauge) -> Mapping[Labels, float]:
        """Return the values of a gauge that are known now."""
        since = self._now() - _FRESH_SECONDS
        series = self._gauges.get(what, {}).items()
        return {labels: value for labels, (value, at) in series if not value or at > since}

    def take(self, line: bytes) -> bool:
        """Add up *line* and return True, or return False to leave it in the log."""
        if not line.startswith(_MARK):
            return False
        try:
            measures = list(self._read(msgspec.json.decode(line)))
        except _NOT_OURS:
            return False
        for one in measures:
            self._add(one)
        return True

    def _read(self, document: Mapping[str, Any]) -> Iterator[_Reported]:
        for directive in document["_aws"]["CloudWatchMetrics"]:
            for metric in directive["Metrics"]:
                what = _BY_NAME[metric["Name"]]
                labels = {name: str(document[name]) for name in TABLE[what].labels}
                value = _checked(what, document[what])
                yield _Reported(what, bounded(what, labels, self._types), value)

    def _add(self, measure: _Reported) -> None:
        if isinstance(measure.what, Count):
            sums = self.sums.setdefault(measure.what, {})
            sums[measure.labels] = sums.get(measure.labels, 0) + measure.value
            return
        if isinstance(measure.what, Gauge):
            gauges = self._gauges.setdefault(measure.what, {})
            gauges[measure.labels] = (measure.value, self._now())
            return
        histogram = self.histograms.setdefault(measure.what, {}).setdefault(
            measure.labels, Histogram()
        )
        histogram.add(measure.value)


def _checked(what: Counted, value: Any) -> float | Sequence[float]:
    figures = list(value) if isinstance(what, Span) else [value]
    if min(figures, default=0) < 0 or not isfinite(sum(figures)):
        raise ValueError(f"{what} cannot be {value}")
    if isinstance(what, Gauge):
        return float(value)
    return int(value) if isinstance(what, Count) else figures
