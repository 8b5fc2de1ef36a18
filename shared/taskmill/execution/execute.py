"""Runs a batch of tasks: claims what can start, runs it concurrently, settles together."""

import logging
from collections import deque
from collections.abc import Sequence
from datetime import timedelta
from typing import assert_never

from msgspec import Struct, field

from taskmill.core.errors import StoreUnavailable
from taskmill.core.log import Position
from taskmill.core.time import in_ms
from taskmill.execution.claim import Arrival, Claimer
from taskmill.execution.context import Perform, RunContext, Running, Task, named
from taskmill.execution.lease import LOSSES_BEFORE_POISON, Beat
from taskmill.execution.outcome import Cancelled, End, Expired, GivenBack, Poisoned, TimedOut
from taskmill.execution.settle import Settler, started

_log = logging.getLogger("taskmill.execute")


def execute(
    arrivals: Sequence[Arrival], perform: Perform, run_context: RunContext
) -> set[Position]:
    """Run each arrival to its end; return the positions to retry.

    Whatever dies on the way, the records are redelivered: claim then refuses finished turns and
    takes over lost ones.
    """
    run = _Run(perform, run_context, Claimer(run_context, deque(arrivals)), Settler(run_context))
    while run.goes_on:
        run.begin()
        run.collect()
        run.give_back()
        run.keep_leases()
        run.settler.settle(is_idle=not run.running)
        run.settler.publish(is_over=not run.goes_on)
    run_context.bus.flush()
    return run.claimer.failed | run.settler.failed


class _Run(Struct):
    perform: Perform
    run_context: RunContext
    claimer: Claimer
    settler: Settler
    running: dict[int, Running] = field(default_factory=dict)
    beat_at_ms: int = 0
    leaves_at_ms: int = 0
    """When this process gives back what still runs; 0 while it need not end."""

    @property
    def goes_on(self) -> bool:
        return bool(self.running or self.settler.ended) or not self.claimer.is_empty

    def begin(self) -> None:
        free = self.run_context.concurrency - len(self.running)
        is_idle = not self.running and not self.settler.ended
        for running in self.claimer.claim(free=free, is_idle=is_idle):
            if running.cancel_requested:
                self.settler.end(running, Cancelled())
            elif running.attempt.losses >= LOSSES_BEFORE_POISON:
                self.settler.end(running, Poisoned(running.attempt.losses))
            elif (expired_ms := running.expired_ms) is not None:
                self.settler.end(running, Expired(expired_ms))
            else:
                self._start(running)

    def _start(self, running: Running) -> None:
        task = Task(running)
        self.running[self.run_context.executor.start(lambda: self.perform(task))] = running

    def collect(self) -> None:
        """Collect finished attempts; stop those past their deadline."""
        if not self.running and not self.settler.is_refused:
            return
        for one in self.run_context.executor.ended(within=self._patience()):
            running = self.running.pop(one.ticket, None)
            if running is not None:  # otherwise it was stopped, and its late result is void
                self.settler.end(running, one.end)
        now = self.run_context.clock()
        late = [ticket for ticket, running in self.running.items() if running.deadline_ms <= now]
        for ticket in late:
            self._cut_off(ticket, TimedOut(self.running[ticket].timeout))
        self._cut_off_cancelled()

    def _cut_off_cancelled(self) -> None:
        """Stop waiting for cancelled attempts whose author wants the process to end."""
        if not self.run_context.cuts_off_cancelled:
            return
        for ticket in [one for one, running in self.running.items() if running.cancel_requested]:
            self._cut_off(ticket, Cancelled())
            self.claimer.is_closed = True  # the process ends with its stray call

    def give_back(self) -> None:
        """Give back the turns of running attempts when this process must end."""
        if not self.run_context.is_leaving():
            return
        now = self.run_context.clock()
        if not self.leaves_at_ms:
            self.leaves_at_ms = now + in_ms(self.run_context.pace.leave)
            self.settler.gives_up_at_ms = self.leaves_at_ms + in_ms(self.run_context.pace.margin)
        if now >= self.leaves_at_ms:
            for ticket in list(self.running):
                self.running[ticket].is_lost = True
                self._cut_off(ticket, GivenBack())

    def _cut_off(self, ticket: int, end: End) -> None:
        self.run_context.executor.abandon(ticket)
        self.settler.end(self.running.pop(ticket), end)

    def _patience(self) -> timedelta:
        deadlines = [running.deadline_ms for running in self.running.values()]
        if not deadlines:
            return self.run_context.pace.settle
        until_deadline = timedelta(milliseconds=min(deadlines) - self.run_context.clock())
        return max(min(until_deadline, self.run_context.pace.settle), timedelta())

    def keep_leases(self) -> None:
        now = self.run_context.clock()
        if self.beat_at_ms == 0:
            self.beat_at_ms = now + in_ms(self.run_context.pace.heartbeat)
        if now < self.beat_at_ms:
            return
        self.beat_at_ms = now + in_ms(self.run_context.pace.heartbeat)
        tasks = [*self.running.values(), *(running for running, _ in self.settler.ended)]
        try:
            beats = self.run_context.leases.extend([running.lease for running in tasks])
        except StoreUnavailable:
            return  # the next heartbeat or settle finds out
        for running, beat in zip(tasks, beats, strict=True):
            self._heard(running, beat)

    def _heard(self, running: Running, beat: Beat) -> None:
        """Inform the handler about its lease, and everybody about the start."""
        match beat:
            case Beat.LOST:
                running.is_lost = True
                _log.warning("lease lost", extra=named(running.attempt.envelope))
            case Beat.CANCEL:
                running.cancel_requested = True
                self._report_start(running)
            case Beat.HELD:
                self._report_start(running)
            case Beat.COLD:
                pass  # nobody else can take it until the shard is open
            case _:
                assert_never(beat)

    def _report_start(self, running: Running) -> None:
        if not running.is_start_reported:
            running.is_start_reported = True
            self.run_context.bus.send_facts([started(running.attempt)])
