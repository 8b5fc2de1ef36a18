"""Metrics as log lines in CloudWatch's Embedded Metric Format."""

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from threading import Lock
from typing import Any, Final, TypeAlias, TypeVar

import msgspec
from msgspec import Struct, field

from taskmill.core.counting import TABLE, Count, Counted, Gauge, Span, bounded
from taskmill.core.ports import Clock

MOST_VALUES: Final = 100
"""CloudWatch's limit for the values of one metric in a line."""

_Labels: TypeAlias = tuple[tuple[str, str], ...]
_Series: TypeAlias = tuple[Counted, _Labels]
_Value: TypeAlias = float | list[float]

V = TypeVar("V", int, float, list[float])


def print_line(line: bytes) -> None:
    sys.stdout.write(line.decode() + "\n")
    sys.stdout.flush()


class EmfCounters:
    """Writes nothing when nothing was counted, otherwise usually one line per invocation."""

    def __init__(
        self,
        *,
        namespace: str,
        types: Collection[str],
        clock: Clock,
        write: Callable[[bytes], None] = print_line,
    ) -> None:
        self._namespace = namespace
        self._types = types
        self._clock = clock
        self._write = write
        self._lock = Lock()
        self._sums: dict[_Series, int] = {}
        self._times: dict[_Series, list[float]] = {}
        self._values: dict[_Series, float] = {}

    def count(self, what: Count, by: int = 1, **labels: str) -> None:
        if by:
            series = (what, tuple(labels.items()))
            with self._lock:
                self._sums[series] = self._sums.get(series, 0) + by

    def time(self, what: Span, *seconds: float, **labels: str) -> None:
        series = (what, tuple(labels.items()))
        with self._lock:
            self._times.setdefault(series, []).extend(seconds)

    def measure(self, what: Gauge, value: float, **labels: str) -> None:
        with self._lock:
            self._values[what, tuple(labels.items())] = value

    def flush(self) -> None:
        with self._lock:
            sums, self._sums = self._sums, {}
            times, self._times = self._times, {}
            values, self._values = self._values, {}
        # Aggregated only here, because counting is on every task's path.
        added, timed, read = self._bounded(sums), self._bounded(times), self._bounded(values)
        for line in _lines([*added.items(), *_in_parts(timed), *read.items()]):
            self._write(msgspec.json.encode({"_aws": self._about(line), **line.values}))

    def _bounded(self, by_series: Mapping[_Series, V]) -> dict[_Series, V]:
        """Merge the series that differ only in unknown label values."""
        totals: dict[_Series, V] = {}
        for (what, labels), value in by_series.items():
            series = (what, bounded(what, dict(labels), self._types))
            totals[series] = totals[series] + value if series in totals else value
        return totals

    def _about(self, line: "_Line") -> dict[str, Any]:
        return {
            "Timestamp": self._clock(),
            "CloudWatchMetrics": [
                {"Namespace": self._namespace, "Dimensions": dimensions, "Metrics": [metric]}
                for dimensions, metric in line.metrics
            ],
        }


class _Line(Struct):
    """The content of one line: within it each metric and label has a single value."""

    values: dict[str, Any] = field(default_factory=dict)
    metrics: list[tuple[list[list[str]], dict[str, str]]] = field(default_factory=list)

    def takes(self, what: Counted, labels: _Labels) -> bool:
        values = self.values
        return what not in values and all(
            values.get(name, nonce) == nonce for name, nonce in labels
        )

    def add(self, what: Counted, labels: _Labels, value: _Value) -> None:
        self.values |= {**dict(labels), what: value}
        dimensions = [[name for name, _ in labels]]
        if TABLE[what].calls_for_help and labels:
            dimensions.append([])
        self.metrics.append((dimensions, {"Name": what, "Unit": _unit(what)}))


def _unit(what: Counted) -> str:
    is_time = isinstance(what, Span) or what is Gauge.OLDEST_WAIT
    return "Seconds" if is_time else "Count"


def _lines(counts: Iterable[tuple[_Series, _Value]]) -> list[_Line]:
    """Put the counts into as few lines as possible, usually one."""
    lines: list[_Line] = []
    for (what, labels), value in counts:
        line = next((one for one in lines if one.takes(what, labels)), None)
        if line is None:
            line = _Line()
            lines.append(line)
        line.add(what, labels, value)
    return lines


def _in_parts(times: dict[_Series, list[float]]) -> Iterator[tuple[_Series, _Value]]:
    for series, values in times.items():
        for at in range(0, len(values), MOST_VALUES):
            yield series, [round(value, 6) for value in values[at : at + MOST_VALUES]]
