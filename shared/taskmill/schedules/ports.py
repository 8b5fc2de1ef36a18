"""Ports of schedules."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from taskmill.core.task import Millis, TaskId
from taskmill.schedules.schedule import (
    Draft,
    DueSchedules,
    Fire,
    Schedule,
    ScheduleStep,
    Whereabouts,
)


class Schedules(Protocol):
    """Edits of schedules; each applies only if the schedule is still as it was read."""

    def now(self) -> Millis:
        """Return the ledger's time: no other clock decides what is due."""
        ...

    def find(self, tenant: str, name: str) -> Schedule | None: ...

    def page(self, tenant: str, *, after: str, limit: int) -> Sequence[Schedule]: ...

    def make(self, draft: Draft) -> bool:
        """Return False when the name is taken."""
        ...

    def change(self, schedule: Schedule, draft: Draft) -> bool: ...

    def delete(self, schedule: Schedule) -> bool: ...

    def trigger(self, schedule: Schedule, fire: Fire) -> bool: ...

    def backfill(self, schedule: Schedule, fires: Sequence[Fire]) -> bool: ...


class Firing(Protocol):
    """The schedulers' use of schedules."""

    def due(self, *, most: int) -> DueSchedules: ...

    def whereabouts(self, tasks: Sequence[TaskId]) -> Mapping[TaskId, Whereabouts]: ...

    def advance(self, steps: Sequence[ScheduleStep]) -> Sequence[ScheduleStep]:
        """Apply each step whose schedule is as it was read, all together; return those."""
        ...
