"""Counters in memory, for tests and for the kit of worker authors."""

from collections import Counter, defaultdict
from collections.abc import Collection

from taskmill.core.counting import Count, Counted, Span, bounded


class MemoryCounters:
    def __init__(self, types: Collection[str] = ()) -> None:
        self._types = types
        self._sums: Counter[tuple[Counted, tuple[tuple[str, str], ...]]] = Counter()
        self._times: defaultdict[tuple[Counted, tuple[tuple[str, str], ...]], list[float]]
        self._times = defaultdict(list)

    def count(self, what: Count, by: int = 1, **labels: str) -> None:
        if by:
            self._sums[what, bounded(what, labels, self._types)] += by

    def time(self, what: Span, *seconds: float, **labels: str) -> None:
        self._times[what, bounded(what, labels, self._types)] += seconds

    def flush(self) -> None:
        """Keep everything: it is looked at here."""

    def total(self, what: Count, **labels: str) -> int:
        """Return the sum over everything that carries these *labels*."""
        wanted = set(labels.items())
        return sum(
            n for (name, given), n in self._sums.items() if name is what and wanted <= set(given)
        )

    def times(self, what: Span, **labels: str) -> list[float]:
        wanted = set(labels.items())
        told = self._times.items()
        return [
            one
            for (name, given), all_ in told
            if name is what and wanted <= set(given)
            for one in all_
        ]
