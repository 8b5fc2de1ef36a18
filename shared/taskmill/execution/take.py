"""Asks the lane for tasks: when, how many, and what is said beside it."""

import logging
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Final

from msgspec import Struct, field

from taskmill.core.errors import StoreUnavailable
from taskmill.core.owed import Cold
from taskmill.core.task import TaskType
from taskmill.core.wake_up import WakeUp
from taskmill.execution.claim import Candidate, Claimer, Claims
from taskmill.execution.context import RunContext
from taskmill.lanes.enter import wake
from taskmill.lanes.lane import MOST_TAKEN, Alone, Leave, PutBack, Take, TakeAnswer

_log = logging.getLogger("taskmill.take")

PROMISE: Final = timedelta(seconds=1)
"""How long a process promises to ask again after each take."""

SOON_MS: Final = 10
"""While there is more to take: how soon, unless half of the places are free earlier."""

AGAIN_MS: Final = 100
"""Until what could not be claimed is claimed again."""

LATER_MS: Final = 200
"""While there is nothing to take, and no ring."""

SAYING_MS: Final = 1000
"""A full process asks for nothing this often, so that nobody is started in its place."""


class Taker(Struct):
    """One process's dealings with the lane of its type."""

    run_context: RunContext
    task_type: TaskType
    leaves: list[Leave] = field(default_factory=list)
    put_backs: list[PutBack] = field(default_factory=list)
    again: list[Candidate] = field(default_factory=list)
    epoch: str = ""
    taken_at_ms: int = 0
    """When it asked last; 0 before the first time."""

    is_short: bool = False
    """True when the last take gave less than it asked for: nothing waits."""

    has_promised: bool = False
    must_stay: bool = False
    """True when nobody else was there for what is in flight, once this process had nothing left."""

    was_alone: bool = False
    """True when what was taken last must run alone."""

    @property
    def is_new(self) -> bool:
        """Whether it has asked nothing yet."""
        return self.taken_at_ms == 0

    def asks_in_ms(self, *, free: int) -> int:
        """Return in how many milliseconds it asks again, if nothing happens before."""
        if self.again:
            return AGAIN_MS
        span = SAYING_MS if not free else LATER_MS if self.is_short else SOON_MS
        return max(self.taken_at_ms + span - self.run_context.clock(), 0)

    @property
    def gap(self) -> timedelta:
        """How long to wait for a ring while nothing runs."""
        return self.run_context.bell.patience if self.has_promised else timedelta()

    def is_due(self, *, free: int, has_ended: bool) -> bool:
        """Return whether to ask now; *has_ended* says that a task has ended since the last time."""
        since = self.run_context.clock() - self.taken_at_ms
        if self.is_new or self.run_context.bell.has_rung():
            return True
        if self.again:
            return since >= AGAIN_MS
        if not free:
            return since >= SAYING_MS
        if self.is_short:
            return since >= (SOON_MS if has_ended and not self.has_promised else LATER_MS)
        return free * 2 >= self.run_context.concurrency or since >= SOON_MS

    def take(self, *, free: int, is_idle: bool) -> Claims:
        """Take as many as there are free places, and claim them."""
        return self._claimed(self._ask(free - len(self.again), is_idle=is_idle))

    def end(self, *, free: int) -> Claims:
        """Ask once more without a promise to come again: if nothing is there, it was the last."""
        claims = self._claimed(self._ask(free, is_idle=True, is_last=True))
        self._put_back()
        return claims

    def hand_over(self) -> None:
        """Start another process in its place, which looks after what is in flight."""
        wake([WakeUp(self.task_type, self.run_context.partition)], self.run_context.bus)

    def _claimed(self, candidates: Sequence[Candidate]) -> Claims:
        candidates, self.again = [*self.again, *candidates], []
        if not candidates:
            return Claims()
        claims = Claimer(self.run_context).claim(candidates)
        self.again, self.put_backs = claims.again, self.put_backs + claims.put_backs
        return claims

    def _ask(self, free: int, *, is_idle: bool, is_last: bool = False) -> Sequence[Candidate]:
        self._put_back()
        self.run_context.bell.clear()
        asked_at_ms = self.run_context.clock()
        most = max(min(free, MOST_TAKEN), 0)
        leaves = [one for one in self.leaves if one.epoch == self.epoch]
        self.taken_at_ms, self.leaves = asked_at_ms, []
        take = Take(
            type=self.task_type,
            most=most,
            alone=self._alone(is_idle=is_idle),
            partition=self.run_context.partition,
            waits=None if is_last else self._promise(free),
            leaves=tuple(leaves),
            epoch=self.epoch,
        )
        taken = self._taken(take)
        if taken is None:
            self.is_short = True
            return []
        self.epoch = taken.epoch
        self.is_short = len(taken.tasks) < most
        self.must_stay = taken.must_stay and (is_last or self.must_stay)
        if taken.tasks:
            self.was_alone = taken.is_alone
        wake(taken.wake, self.run_context.bus)
        if taken.is_unwatched:
            with suppress(StoreUnavailable):  # the next take tries again
                self.run_context.watch(self.task_type)
        return Claimer(self.run_context).candidates(
            taken.tasks, epoch=taken.epoch, alone=taken.is_alone, taken_at_ms=asked_at_ms
        )

    def _taken(self, take: Take) -> TakeAnswer | None:
        try:
            taken = self.run_context.lanes.take(take)
        except StoreUnavailable as error:
            _log.warning("take failed", extra={"store": error.store, "why": error.why})
            return None
        return None if isinstance(taken, Cold) else taken

    def _alone(self, *, is_idle: bool) -> Alone:
        """Ask for a suspect when nothing runs, but not twice in a row before others."""
        if not is_idle:
            return Alone.NEVER
        return Alone.LAST if self.was_alone else Alone.FIRST

    def _promise(self, free: int) -> timedelta:
        """Promise to ask again while most places are free; a busy process leaves it to others."""
        places = self.run_context.concurrency
        has_room = free > 0 and (places - free) * 4 <= places
        bell, partition = self.run_context.bell, self.run_context.partition
        self.has_promised = has_room and bell.listen(self.task_type, partition)
        return PROMISE if self.has_promised else timedelta()

    def _put_back(self) -> None:
        put_backs, self.put_backs = self.put_backs, []
        if put_backs:
            with suppress(StoreUnavailable):  # then the lane's tick does it
                wake(self.run_context.lanes.put_back(put_backs), self.run_context.bus)
