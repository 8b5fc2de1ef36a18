"""Runs each periodic job when it is due; a failing job pauses without delaying the others."""

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from datetime import timedelta
from functools import partial

from functions.scheduler.jobs import Job
from taskmill.core.counting import Count
from taskmill.core.errors import StoreUnavailable
from taskmill.core.ports import Counters
from taskmill.execution.ports import BackgroundJobs

AT_LEAST_AFTER_A_FAILURE = timedelta(seconds=1)
LONGEST_REST = timedelta(milliseconds=100)
"""How often the loop checks whether a slow job has ended."""
SELDOM = timedelta(milliseconds=500)
"""A job that rests this long starts with what comes next, and wakes no process for itself."""


class _Turn:
    def __init__(self, job: Job, due_at: timedelta) -> None:
        self.job = job
        self.due_at = due_at
        self.under_way: Future[int] | None = None
        self.ended_at = due_at
        self.is_idle = self.is_seldom = False
        self.done = 0

    def run(self, now: Callable[[], timedelta]) -> int:
        """Run the job once; return how much it did."""
        self.is_idle = False
        try:
            done = self.job.run()
            self.is_idle = done is None
            return done or 0
        finally:
            self.ended_at = now()

    def rest(self, tick: timedelta) -> timedelta:
        """Return how long the job rests after a run."""
        usual = self.job.every or tick
        return self.job.every_idle or usual if self.is_idle else usual


class JobLoop:
    def __init__(  # noqa: PLR0913 - its dependencies, all named
        self,
        jobs: Sequence[Job],
        *,
        background_jobs: BackgroundJobs,
        counters: Counters,
        log: logging.Logger,
        now: Callable[[], timedelta],
        tick: timedelta,
    ) -> None:
        self.bug: Exception | None = None
        self._turns = [_Turn(job, due_at=now()) for job in jobs]
        self._background_jobs = background_jobs
        self._counters = counters
        self._log = log
        self._now = now
        self._tick = tick

    @property
    def done(self) -> dict[str, int]:
        """Return how much each job has done so far."""
        return {turn.job.name: turn.done for turn in self._turns}

    def work(self) -> timedelta:
        """Start due jobs, record finished ones, and return how long to rest."""
        now = self._now()  # what becomes due during this round comes in the next one, at once
        for turn in self._turns:
            self._book_what_has_ended(turn)
            if turn.under_way is None and turn.due_at <= now:
                turn.under_way = self._begin(turn)
                self._book_what_has_ended(turn)
        prompt = [
            turn.due_at for turn in self._turns if turn.under_way is None and not turn.is_seldom
        ]
        rest = min(prompt, default=self._now() + LONGEST_REST) - self._now()
        return min(max(rest, timedelta(0)), LONGEST_REST)

    def finish(self, *, within: timedelta) -> None:
        """Wait for slow jobs to end: a frozen process would keep their locks and connections."""
        under_way = [turn.under_way for turn in self._turns if turn.under_way is not None]
        wait(under_way, timeout=max(within.total_seconds(), 0))
        for turn in self._turns:
            self._book_what_has_ended(turn)

    def _begin(self, turn: _Turn) -> Future[int]:
        do = partial(turn.run, self._now)
        if turn.job.is_slow:
            return self._background_jobs.start(turn.job.name, do)
        future: Future[int] = Future()
        try:
            future.set_result(do())
        except Exception as error:  # noqa: BLE001 - a bug in one job must not stop the others
            future.set_exception(error)
        return future

    def _book_what_has_ended(self, turn: _Turn) -> None:
        if turn.under_way is not None and turn.under_way.done():
            self._book(turn, turn.under_way)

    def _book(self, turn: _Turn, future: Future[int]) -> None:
        turn.under_way, rest = None, turn.rest(self._tick)
        match future.exception():
            case None:
                turn.done += future.result()
                self._counters.count(Count.CHORES, future.result(), chore=turn.job.name)
            case StoreUnavailable() as error:
                rest = max(rest, AT_LEAST_AFTER_A_FAILURE)
                self._counters.count(Count.CHORE_FAILURES, chore=turn.job.name)
                fields = {"chore": turn.job.name, "store": error.store, "why": error.why}
                self._log.warning("periodic job failed: store unavailable", extra=fields)
            case Exception() as error:
                rest = max(rest, AT_LEAST_AFTER_A_FAILURE)
                self._counters.count(Count.CHORE_FAILURES, chore=turn.job.name)
                self.bug = self.bug or error
                self._log.error(
                    "periodic job raised an error", extra={"chore": turn.job.name}, exc_info=error
                )
            case exit_:
                raise exit_
        turn.is_seldom = rest >= SELDOM
        turn.due_at = turn.ended_at + rest  # its end may be noticed one tick late
