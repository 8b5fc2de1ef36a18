"""Watches lanes: finds what nobody runs any more, and ends that nobody published."""

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Final, Protocol, assert_never

from msgspec import Struct, field

from taskmill.core.errors import StoreUnavailable
from taskmill.core.facts import Fact
from taskmill.core.owed import Cold
from taskmill.core.ports import Bus
from taskmill.core.task import TaskType
from taskmill.lanes.enter import wake
from taskmill.lanes.lane import (
    Leave,
    LookLater,
    PutBack,
    TakenTask,
    TurnIsFree,
    TurnIsGone,
    TurnIsOver,
    TurnLives,
    TurnState,
)
from taskmill.lanes.ports import Lanes, Turns

MOST_LOOKS: Final = 500

HELD_UP: Final = timedelta(seconds=3)
"""A process that could not watch for so long stood still, or its Redis did."""

SPARED: Final = timedelta(seconds=3)
"""Workers extend their leases within this time once Redis answers again."""

_log = logging.getLogger("taskmill.lanes")


class WatchStores(Protocol):
    """Ports for watching."""

    @property
    def bus(self) -> Bus: ...

    @property
    def lanes(self) -> Lanes: ...

    @property
    def turns(self) -> Turns: ...


class Rhythm(Struct):
    """Notices when a process could not watch for a while.

    Then leases may have lapsed because Redis stood still, though their holders live.
    """

    now: Callable[[], timedelta]
    watched_at: timedelta | None = None
    spares_until: timedelta = timedelta()

    def spares(self) -> timedelta:
        """Note that the process has watched; return for how long no lease is to be closed."""
        now = self.now()
        if self.watched_at is not None and now - self.watched_at > HELD_UP:
            self.spares_until = now + SPARED
        self.watched_at = now
        return max(self.spares_until - now, timedelta())


class LaneWatch:
    """The tick of lanes; any number of processes may watch side by side."""

    def __init__(
        self, stores: WatchStores, rhythm: Rhythm | None = None, *, only: TaskType | None = None
    ) -> None:
        """Watch as a scheduler, or as a worker, which watches *only* the lane of its type."""
        self._stores = stores
        self._rhythm = rhythm
        self._only = only
        self.saw_nothing = False
        """Whether nothing waited or was in flight in any lane when this looked last."""

    def run(self) -> int:
        """Look at the records of what is in flight for long, and wake whom the lanes need.

        Return how many records and wake-ups that were.

        Whoever dies here leaves them in flight: others look a little later. Each answer names the
        look, so that nothing is done twice.
        """
        stores = self._stores
        watched = stores.lanes.watch(most=MOST_LOOKS, only=self._only)
        self.saw_nothing = all(lane.is_empty for _, lane in watched)
        wake_ups = [one for _, lane in watched for one in lane.wake]
        wake(wake_ups, stores.bus)
        findings = _Findings()
        spared = self._rhythm.spares() if self._rhythm else timedelta()
        for task_type, lane in watched:
            states = self._looked_at(lane.tasks, spared)
            for task, state in zip(lane.tasks, states, strict=True):
                findings.add(task_type, task, state, epoch=lane.epoch)
        self._act(findings)
        if wake_ups or findings.put_backs:
            with suppress(StoreUnavailable):  # only wake-ups are on their way now
                stores.bus.flush()
        return len(wake_ups) + sum(len(lane.tasks) for _, lane in watched)

    def _looked_at(self, tasks: Sequence[TakenTask], spared: timedelta) -> Sequence[TurnState]:
        """Return the state of each turn; of those that are spared nothing is known yet."""
        if spared:
            return [TurnLives(spared)] * len(tasks)
        return self._stores.turns.look([one.member for one in tasks]) if tasks else []

    def _act(self, findings: "_Findings") -> None:
        """Do the rest, each part for itself: what fails is found at the next look."""
        stores = self._stores
        if findings.later:
            stores.lanes.look_later(findings.later)
        if findings.put_backs:
            wake(stores.lanes.put_back(findings.put_backs), stores.bus)
        if findings.leaves and self._published(findings.facts):
            for task_type, leaves in findings.leaves.items():
                stores.lanes.leave(task_type, leaves)

    def _published(self, facts: Sequence[Fact]) -> bool:
        """Publish again what the worker may not have published; false when the log is away."""
        if not facts:
            return True
        try:
            self._stores.bus.send_facts(facts)
            self._stores.bus.flush()
        except StoreUnavailable as error:
            _log.warning("facts were not published", extra={"why": error.why})
            return False
        return True


class _Findings(Struct):
    later: list[LookLater] = field(default_factory=list)
    put_backs: list[PutBack] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    leaves: dict[TaskType, list[Leave]] = field(default_factory=dict)

    def add(self, task_type: TaskType, task: TakenTask, state: TurnState, *, epoch: str) -> None:
        match state:
            case TurnIsFree(alone):
                self.put_backs.append(
                    PutBack(type=task_type, member=task.member, look=task.look, alone=alone)
                )
            case TurnLives(span):
                self.later.append(
                    LookLater(type=task_type, member=task.member, look=task.look, after=span)
                )
            case TurnIsOver(facts):
                self.facts += facts
                self.leaves.setdefault(task_type, []).append(Leave(task.member, epoch))
            case TurnIsGone():
                _log.warning("no record, and too old for a new one", extra={"id": task.member.id})
                self.leaves.setdefault(task_type, []).append(Leave(task.member, epoch))
            case Cold():
                pass  # the look has moved on already
            case _:
                assert_never(state)
