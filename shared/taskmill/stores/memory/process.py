"""Counters, executors and background jobs without threads."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from datetime import timedelta
from itertools import count
from typing import TypeAlias, TypeVar

from taskmill.core.counting import Count, Counted, Gauge, Span, bounded
from taskmill.execution.ports import Ended, Performed


class InlineExecutor:
    def __init__(self) -> None:
        self._ends: dict[int, Ended] = {}
        self._tickets = count(1)

    def start(self, call: Callable[[], Performed]) -> int:
        ticket = next(self._tickets)
        performed = call()
        end = asyncio.run(performed) if isinstance(performed, Coroutine) else performed
        self._ends[ticket] = Ended(ticket, end)
        return ticket

    def ended(self, *, within: timedelta) -> Sequence[Ended]:  # noqa: ARG002 - it never waits
        ends, self._ends = list(self._ends.values()), {}
        return ends

    def nudge(self) -> None:
        """Nobody waits here."""

    def abandon(self, ticket: int) -> None:
        self._ends.pop(ticket, None)

    def strays(self, *, within: timedelta) -> int:  # noqa: ARG002 - calls have ended when this is called
        return 0


class InlineBackgroundJobs:
    def start(self, _name: str, background_job: Callable[[], int]) -> Future[int]:
        outcome: Future[int] = Future()
        try:
            outcome.set_result(background_job())
        except Exception as error:  # noqa: BLE001 - raised again when the outcome is read
            outcome.set_exception(error)
        return outcome


_Series: TypeAlias = tuple[Counted, tuple[tuple[str, str], ...]]

V = TypeVar("V", int, float, list[float])


class MemoryCounters:
    def __init__(self, types: Collection[str] = ()) -> None:
        self._types = types
        self._sums: Counter[_Series] = Counter()
        self._times: defaultdict[_Series, list[float]] = defaultdict(list)
        self._values: dict[_Series, float] = {}

    def count(self, what: Count, by: int = 1, **labels: str) -> None:
        if by:
            self._sums[what, tuple(labels.items())] += by

    def time(self, what: Span, *seconds: float, **labels: str) -> None:
        self._times[what, tuple(labels.items())] += seconds

    def measure(self, what: Gauge, value: float, **labels: str) -> None:
        self._values[what, tuple(labels.items())] = value

    def flush(self) -> None:
        """Keep everything: tests read it here."""

    def total(self, what: Count, **labels: str) -> int:
        """Return the sum over all series with these *labels*."""
        return sum(self._of(self._sums, what, labels))

    def times(self, what: Span, **labels: str) -> list[float]:
        return [seconds for series in self._of(self._times, what, labels) for seconds in series]

    def value(self, what: Gauge, **labels: str) -> float | None:
        """Return the latest value of the one series with these *labels*."""
        return next(iter(self._of(self._values, what, labels)), None)

    def _of(
        self, by_series: Mapping[_Series, V], what: Counted, labels: Mapping[str, str]
    ) -> list[V]:
        filters = set(labels.items())
        return [
            value
            for (name, series_labels), value in by_series.items()
            if name is what and filters <= set(bounded(name, dict(series_labels), self._types))
        ]
