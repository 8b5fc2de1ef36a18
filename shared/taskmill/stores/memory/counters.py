"""Counters in memory, for tests and for the kit of worker authors."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from typing import TypeAlias, TypeVar

from taskmill.core.counting import Count, Counted, Span, bounded

_Series: TypeAlias = tuple[Counted, tuple[tuple[str, str], ...]]

V = TypeVar("V", int, list[float])


class MemoryCounters:
    def __init__(self, types: Collection[str] = ()) -> None:
        self._types = types
        self._sums: Counter[_Series] = Counter()
        self._times: defaultdict[_Series, list[float]] = defaultdict(list)

    def count(self, what: Count, by: int = 1, **labels: str) -> None:
        if by:
            self._sums[what, tuple(labels.items())] += by

    def time(self, what: Span, *seconds: float, **labels: str) -> None:
        self._times[what, tuple(labels.items())] += seconds

    def flush(self) -> None:
        """Keep everything: it is looked at here."""

    def total(self, what: Count, **labels: str) -> int:
        """Return the sum over everything that carries these *labels*."""
        return sum(self._of(self._sums, what, labels))

    def times(self, what: Span, **labels: str) -> list[float]:
        return [seconds for series in self._of(self._times, what, labels) for seconds in series]

    def _of(self, kept: Mapping[_Series, V], what: Counted, labels: Mapping[str, str]) -> list[V]:
        wanted = set(labels.items())
        return [
            value
            for (name, given), value in kept.items()
            if name is what and wanted <= set(bounded(name, dict(given), self._types))
        ]
