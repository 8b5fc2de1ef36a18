"""Adds up the metrics that functions print among their log lines."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Final, TypeAlias

from taskmill.domain.counting import BUCKETS, TABLE, Count, Counted, Span, bounded

Labels: TypeAlias = tuple[tuple[str, str], ...]

_MARK: Final = b'{"_aws":'
_BY_NAME: Final[Mapping[str, Counted]] = {str(what): what for what in TABLE}


@dataclass(slots=True)
class Histogram:
    below: list[int] = field(default_factory=lambda: [0] * len(BUCKETS))
    """How many were no longer than each bound."""

    count: int = 0
    seconds: float = 0.0

    def add(self, seconds: float) -> None:
        self.count += 1
        self.seconds += seconds
        for index, bound in enumerate(BUCKETS):
            self.below[index] += seconds <= bound


@dataclass(frozen=True, slots=True)
class _Told:
    what: Counted
    labels: Labels
    value: Any


class Meter:
    """Takes only what is ours: a worker may print metrics of its own, which stay in its log."""

    def __init__(self, types: Collection[str | None] = ()) -> None:
        self.sums: dict[Count, dict[Labels, int]] = {}
        self.histograms: dict[Span, dict[Labels, Histogram]] = {}
        self._types = types

    def take(self, line: bytes) -> bool:
        """Add up *line* and return True, or leave it to the log."""
        if not line.startswith(_MARK):
            return False
        try:
            told = list(self._read(json.loads(line)))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return False
        for one in told:
            self._add(one)
        return True

    def _read(self, document: Mapping[str, Any]) -> Iterator[_Told]:
        for directive in document["_aws"]["CloudWatchMetrics"]:
            for metric in directive["Metrics"]:
                what = _BY_NAME[metric["Name"]]
                labels = {name: str(document[name]) for name in TABLE[what].labels}
                value = _checked(what, document[what])
                yield _Told(what, bounded(what, labels, self._types), value)

    def _add(self, told: _Told) -> None:
        if isinstance(told.what, Count):
            sums = self.sums.setdefault(told.what, {})
            sums[told.labels] = sums.get(told.labels, 0) + told.value
            return
        histogram = self.histograms.setdefault(told.what, {}).setdefault(told.labels, Histogram())
        for seconds in told.value:
            histogram.add(seconds)


def _checked(what: Counted, value: Any) -> int | Sequence[float]:
    figures = [value] if isinstance(what, Count) else list(value)
    if not all(isfinite(figure) and figure >= 0 for figure in figures):
        raise ValueError(f"{what} cannot be {value}")
    return int(value) if isinstance(what, Count) else figures
