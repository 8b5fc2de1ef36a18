"""Runs tasks of one type: takes them from the lane, runs them concurrently, settles them."""

import logging
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Final, assert_never

from msgspec import Struct, field

from taskmill.core.errors import StoreUnavailable
from taskmill.core.task import TaskType
from taskmill.core.time import in_ms
from taskmill.execution.claim import Claims
from taskmill.execution.context import Perform, RunContext, Running, Task, named
from taskmill.execution.lease import LOSSES_BEFORE_POISON, Beat
from taskmill.execution.outcome import Cancelled, End, Expired, GivenBack, Poisoned, TimedOut
from taskmill.execution.settle import Settler, started
from taskmill.execution.take import Taker

_log = logging.getLogger("taskmill.execute")

STAYS: Final = timedelta(minutes=1)
"""After about this long an invocation goes as soon as nothing runs."""


def execute(task_type: TaskType, perform: Perform, run_context: RunContext) -> None:
    """Take tasks and run them until nothing waits, or the invocation must end.

    Whatever dies on the way, the lane has the task: its tick finds turns that nobody runs, and ends
    that nobody published.
    """
    run = _Run(perform, run_context, Taker(run_context, task_type), Settler(run_context))
    run.stay()
    try:
        while not run.is_over():
            run.begin()
            run.collect()
            run.give_back()
            run.keep_leases()
            run.publish()
    finally:
        run_context.bell.rest()
    with suppress(StoreUnavailable):  # only wake-ups are on their way now
        run_context.bus.flush()


class _Run(Struct):
    perform: Perform
    run_context: RunContext
    taker: Taker
    settler: Settler
    running: dict[int, Running] = field(default_factory=dict)
    beat_at_ms: int = 0
    goes_at_ms: int = 0
    """From then on it goes when nothing runs."""

    stops_at_ms: int = 0
    """From then on it takes nothing: a task might not end in time."""

    leaves_at_ms: int = 0
    """When this process gives back what still runs; 0 while it need not end."""

    has_ended: bool = False
    """True when a task has ended since the last take."""

    is_closed: bool = False
    """True when nothing more starts here."""

    def stay(self) -> None:
        """Choose by chance when to go: processes that started together must not go together."""
        now, chance = self.run_context.clock(), self.run_context.chance()
        self.goes_at_ms = now + int(in_ms(STAYS) * (0.75 + chance / 2))
        whole = self.run_context.remaining() - self.run_context.pace.margin
        longest = self.run_context.longest
        spare = whole - longest if longest < whole else whole / 4
        self.stops_at_ms = now + int(in_ms(spare) * (0.5 + chance / 2))

    def is_over(self) -> bool:
        """Return whether there is nothing left to do, after asking a last time."""
        if self.is_busy or self.taker.is_new:
            return False
        if self._may_stay() and (not self.taker.is_short or self._hears_a_ring()):
            return False
        self.taker.leaves += self.settler.confirm(may_wait=True)
        if self.is_busy:  # the log is away
            return False
        if self._stands_by():
            return False
        self._start_all(self.taker.end(free=self._free() if self._may_stay() else 0))
        if self.is_busy or self._stands_by():
            return False
        if self.taker.must_stay:
            self.taker.hand_over()
        return True

    def _stands_by(self) -> bool:
        """Wait a moment if nobody else is there for what is in flight."""
        if not self.taker.must_stay or not self._free():
            return False
        self.run_context.executor.ended(within=self._patience())
        return True

    @property
    def is_busy(self) -> bool:
        return self._starts or self.settler.is_busy

    @property
    def _starts(self) -> bool:
        """Whether something runs, or was taken and will."""
        return bool(self.running or self.taker.again)

    def _hears_a_ring(self) -> bool:
        """Wait for a ring while nothing runs; the executor's wait ends with one."""
        gap = self.taker.gap
        if gap:
            self.run_context.executor.ended(within=gap)
        return self.run_context.bell.has_rung()

    def _may_stay(self) -> bool:
        return self._free() > 0 and self.run_context.clock() < self.goes_at_ms

    def _free(self) -> int:
        """Return how many places are free; a task that must run alone has them all."""
        is_closed = self.is_closed or self.settler.log_is_away or self.run_context.is_leaving()
        if is_closed or self.run_context.clock() >= self.stops_at_ms:
            return 0
        if self._starts and self.taker.was_alone:
            return 0
        return self.run_context.concurrency - len(self.running)

    def begin(self) -> None:
        free, is_idle = self._free(), not (self._starts or self.settler.ended)
        if self.taker.is_due(free=free, has_ended=self.has_ended):
            self.has_ended = False
            self._start_all(self.taker.take(free=free, is_idle=is_idle))

    def _start_all(self, claims: Claims) -> None:
        self.settler.add(claims.facts, claims.leaves)
        now = self.run_context.clock()
        for running in claims.running:
            if running.cancel_requested:
                self.settler.end(running, Cancelled(), now=now)
            elif running.attempt.losses >= LOSSES_BEFORE_POISON:
                self.settler.end(running, Poisoned(running.attempt.losses), now=now)
            elif (expired_ms := running.expired_ms) is not None:
                self.settler.end(running, Expired(expired_ms), now=now)
            else:
                self._start(running)

    def _start(self, running: Running) -> None:
        task = Task(running)
        self.running[self.run_context.executor.start(lambda: self.perform(task))] = running

    def collect(self) -> None:
        """Wait for an end, a ring, or a store that is away; stop attempts that are late."""
        is_held_up = self.settler.is_refused or self.settler.log_is_away or self.taker.again
        if not (self.running or is_held_up):
            return
        ended = self.run_context.executor.ended(within=self._patience())
        now = self.run_context.clock()
        for one in ended:
            running = self.running.pop(one.ticket, None)
            if running is not None:  # otherwise it was stopped, and its late result is void
                self._end(running, one.end, now=now)
        late = [ticket for ticket, running in self.running.items() if running.deadline_ms <= now]
        for ticket in late:
            self._cut_off(ticket, TimedOut(self.running[ticket].timeout))
        self._cut_off_cancelled()

    def _end(self, running: Running, end: End, *, now: int) -> None:
        self.has_ended = True
        self.settler.end(running, end, now=now)

    def _cut_off_cancelled(self) -> None:
        """Stop waiting for cancelled attempts whose author wants the process to end."""
        if not self.run_context.cuts_off_cancelled:
            return
        for ticket in [one for one, running in self.running.items() if running.cancel_requested]:
            self._cut_off(ticket, Cancelled())
            self.is_closed = True  # the process ends with its stray call

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
        self._end(self.running.pop(ticket), end, now=self.run_context.clock())

    def _patience(self) -> timedelta:
        waits = [in_ms(self.run_context.pace.settle)]
        waits.append(self.taker.asks_in_ms(free=self._free()))
        now = self.run_context.clock()
        waits += [running.deadline_ms - now for running in self.running.values()]
        return timedelta(milliseconds=max(min(waits), 0))

    def keep_leases(self) -> None:
        now = self.run_context.clock()
        if self.beat_at_ms == 0:
            self.beat_at_ms = now + in_ms(self.run_context.pace.heartbeat)
        if now < self.beat_at_ms:
            return
        self.beat_at_ms = now + in_ms(self.run_context.pace.heartbeat)
        self.run_context.beat()
        tasks = [*self.running.values(), *(running for running, _ in self.settler.ended)]
        beating = [running for running in tasks if not running.is_lost]
        self._doubt_what_lapsed(beating, now)
        try:
            beats = self.run_context.leases.extend([running.lease for running in beating])
        except StoreUnavailable:
            return  # the next heartbeat or settle finds out
        for running, beat in zip(beating, beats, strict=True):
            running.answered_at_ms = now
            self._heard(running, beat)

    def _doubt_what_lapsed(self, beating: Sequence[Running], now: int) -> None:
        """Mark what got no answer for longer than a lease: this process or Redis stood still.

        Another process may run it by now; a lease that a rebuild restored may be that one's.
        """
        lapsed_ms = now - in_ms(self.run_context.pace.lease)
        lapsed = [one for one in beating if one.answered_at_ms < lapsed_ms and one.is_sure]
        if lapsed:
            _log.warning("no beat was answered for a lease", extra={"tasks": len(lapsed)})
            for running in lapsed:
                running.is_sure = False

    def _heard(self, running: Running, beat: Beat) -> None:
        """Inform the handler about its lease, and everybody about the start."""
        match beat:
            case Beat.LOST:
                running.is_lost = True
                _log.warning("lease lost", extra=named(running.attempt.envelope))
            case Beat.CANCEL:
                running.is_sure = True
                running.cancel_requested = True
                self._report_start(running)
            case Beat.HELD:
                running.is_sure = True
                self._report_start(running)
            case Beat.COLD:
                pass  # nobody else can take it until the shard is open
            case _:
                assert_never(beat)

    def _report_start(self, running: Running) -> None:
        if not running.is_start_reported:
            running.is_start_reported = True
            self.settler.add([started(running.attempt)], [])

    def publish(self) -> None:
        """Settle what has ended and publish it; what is in the log leaves with the next take."""
        is_calm = self.taker.is_short or not self.running
        self.taker.leaves += self.settler.confirm(may_wait=not self.running)
        self.settler.settle(at_once=is_calm)
        takes_more = self._may_stay() and not self.taker.is_short
        self.settler.publish(at_once=not (self.running or takes_more))
