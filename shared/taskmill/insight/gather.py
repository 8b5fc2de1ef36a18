"""Gathers statistics on queue lengths and throughput, cached for a moment."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Final

from msgspec.structs import replace

from taskmill.core.ports import Clock, LogReaders
from taskmill.core.task import TaskType
from taskmill.core.time import in_ms
from taskmill.core.topics import RECORDER_EVENTS, RECORDER_PENDING, Reader
from taskmill.insight.ports import LedgerFigures
from taskmill.insight.statistics import Statistics
from taskmill.insight.types import TypeState
from taskmill.submission.ports import Outbox, Requests

KEPT: Final = timedelta(seconds=3)
MOST_COUNTED: Final = 50_000


class Board:
    def __init__(  # noqa: PLR0913 - its dependencies, all named
        self,
        figures: LedgerFigures,
        log: LogReaders,
        requests: Requests,
        outbox: Outbox,
        *,
        readers: Sequence[Reader],
        states: Callable[[], Mapping[TaskType, TypeState]],
        clock: Clock,
    ) -> None:
        self._figures = figures
        self._log = log
        self._requests = requests
        self._outbox = outbox
        self._readers = readers
        self._states = states
        self._clock = clock
        self._latest: Statistics | None = None

    def look(self) -> Statistics:
        """Return statistics at most a moment old, or raise when a store is unavailable."""
        now = self._clock()
        if self._latest is None or not 0 <= now - self._latest.taken_at_ms < in_ms(KEPT):
            since = self._outbox.waits_since()  # read first: its rows move into the log meanwhile
            lags = dict.fromkeys(self._readers, 0)
            for (reader, _), reach in self._log.reach(self._readers).items():
                lags[reader] += reach.lag
            figures = self._figures.figures()
            if all(lags.get(one) == 0 for one in (RECORDER_PENDING, RECORDER_EVENTS)):
                as_of = now if since is None else min(now, since)
                figures = replace(figures, as_of_ms=as_of)  # idle partitions are complete, too
            self._latest = Statistics(
                figures=figures,
                lags=lags,
                backlog=self._requests.backlog(most=MOST_COUNTED),
                outbox=self._outbox.backlog(most=MOST_COUNTED),
                states=self._states(),
                taken_at_ms=now,
            )
        return self._latest
