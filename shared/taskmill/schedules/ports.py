"""Ports of schedules."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from taskmill.core.task import Millis, TaskId
from taskmill.schedules.schedule import Draft, DueSchedules, Fire, Schedule, Step, Whereabouts


class Schedules(Protocol):
    """What people do with schedules; what was not as it was seen any more, is not done."""

    def now(self) -> Millis:
        """Tell the ledger's time: no other clock decides what is due."""
        ...

    def find(self, tenant: str, name: str) -> Schedule | None: ...

    def page(self, tenant: str, *, after: str, limit: int) -> Sequence[Schedule]: ...

    def make(self, draft: Draft) -> bool:
        """Return False when there is one of that name."""
        ...

    def change(self, seen: Schedule, draft: Draft) -> bool: ...

    def delete(self, seen: Schedule) -> bool: ...

    def trigger(self, seen: Schedule, fire: Fire) -> bool: ...

    def backfill(self, seen: Schedule, fires: Sequence[Fire]) -> bool: ...


class Firing(Protocol):
    """What schedulers do with them."""

    def due(self, *, most: int) -> DueSchedules: ...

    def whereabouts(self, tasks: Sequence[TaskId]) -> Mapping[TaskId, Whereabouts]: ...

    def advance(self, steps: Sequence[Step]) -> Sequence[Step]:
        """Do each step whose schedule is as it was seen, all in one; return those."""
        ...
