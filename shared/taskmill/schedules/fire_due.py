"""Fires due schedules: each instant once, however many schedulers run."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import accumulate, takewhile
from typing import Protocol, TypeAlias

from msgspec.structs import replace

from taskmill.core.errors import ScheduleBroken
from taskmill.core.task import Millis, TaskId
from taskmill.schedules.fire_step import Arrived, arrived, held_by, octets_of_a_fire, step_of
from taskmill.schedules.ports import Firing
from taskmill.schedules.schedule import (
    OCTETS_AT_A_TIME,
    DueSchedules,
    Overlap,
    Schedule,
    ScheduleStep,
    Whereabouts,
)

BATCH = 250
MOST_BATCHES = 20
"""The rest fires in the next run of the periodic job."""
LEDGER_MAY_LAG_MS = 3_600_000
BROKEN_RESTS_MS = 10_000
"""A scheduler of another version may know its zone and then fire it in time."""
LONGEST_CANCELLING = timedelta(seconds=2)
MOST_CANCELLING = 100
"""Maximum number of schedules at a time whose previous tasks are cancelled, one by one."""

_log = logging.getLogger("taskmill.schedules")


Cancel: TypeAlias = Callable[[TaskId], bool]


class FireStores(Protocol):
    """Ports for firing."""

    @property
    def firing(self) -> Firing: ...


class ScheduleFirer:
    """Fires due schedules; *cancel* returns whether a task was cancelled or asked to stop.

    *now* comes from a clock that never jumps.
    """

    def __init__(self, stores: FireStores, *, cancel: Cancel, now: Callable[[], timedelta]) -> None:
        self._stores = stores
        self._cancel = cancel
        self._now = now

    def fire(self) -> int:
        """Fire due schedules, and return how many tasks were submitted.

        A scheduler changes a schedule in one statement, and only if the schedule is as it was read.
        """
        schedules = self._stores.firing
        fired = 0
        to_cancel: Sequence[ScheduleStep] = ()
        for _ in range(MOST_BATCHES):
            due, is_more_due = schedules.due(most=BATCH), False
            for part in _parts(due, schedules):
                steps = schedules.advance(part)
                fired += sum(len(step.fires) for step in steps)
                to_cancel = _as_many_as_fit([*to_cancel, *(one for one in steps if one.to_cancel)])
                is_more_due |= any(step.held and not _looks_back(step.seen) for step in steps)
            if not (due.has_more or is_more_due):
                break
        return fired + _make_room(to_cancel, schedules, self._cancel, self._now)


def _parts(due: DueSchedules, schedules: Firing) -> Iterator[Sequence[ScheduleStep]]:
    """Yield the steps in groups that fit in one statement."""
    looking_back = [one for one in due.schedules if _looks_back(one)]
    whereabouts = schedules.whereabouts([task for one in looking_back for task in one.open_tasks])
    part, room = list[ScheduleStep](), OCTETS_AT_A_TIME
    for one in due.schedules:
        octets = octets_of_a_fire(one)
        if part and octets > room:
            yield part
            part, room = [], OCTETS_AT_A_TIME
        step = _step(one, due.now_ms, whereabouts, most=max(room // octets, 1))
        part.append(step)
        room -= octets * len(step.fires)
    if part:
        yield part


def _as_many_as_fit(steps: Sequence[ScheduleStep]) -> Sequence[ScheduleStep]:
    """Return the first schedules, each at its latest, whose fires fit in one statement."""
    latest = list({(step.seen.tenant, step.seen.name): step for step in steps}.values())
    so_far = accumulate(octets_of_a_fire(step.seen) for step in latest)
    fitting = takewhile(lambda octets: octets <= OCTETS_AT_A_TIME, so_far)
    return [step for step, _ in zip(latest[:MOST_CANCELLING], fitting, strict=False)]


def _looks_back(schedule: Schedule) -> bool:
    return schedule.definition.overlap is not Overlap.ALLOW


def _step(
    schedule: Schedule, now_ms: Millis, whereabouts: Mapping[TaskId, Whereabouts], *, most: int
) -> ScheduleStep:
    try:
        arrivals = arrived(schedule, now_ms)
    except ScheduleBroken as error:
        _log.warning(
            "schedule cannot be evaluated", extra={"schedule": schedule.name, "why": str(error)}
        )
        return _rest(schedule, now_ms)
    if not _looks_back(schedule):
        return step_of(arrivals, still_open=schedule.open_tasks, is_free=True, most=most)
    still_open = [
        task for task in schedule.open_tasks if _is_open(task, schedule, now_ms, whereabouts)
    ]
    step = step_of(arrivals, still_open=still_open, is_free=not still_open)
    if _is_to_cancel(arrivals, still_open, whereabouts):
        return replace(step, to_cancel=still_open)
    return step


def _is_open(
    task: TaskId, schedule: Schedule, now_ms: Millis, whereabouts: Mapping[TaskId, Whereabouts]
) -> bool:
    where = whereabouts[task]
    if where is Whereabouts.UNKNOWN:
        return schedule.last is not None and now_ms - schedule.last.at_ms < LEDGER_MAY_LAG_MS
    return where is not Whereabouts.OVER


def _is_to_cancel(
    arrivals: Arrived, still_open: Sequence[TaskId], whereabouts: Mapping[TaskId, Whereabouts]
) -> bool:
    """Return whether tasks block a fire and must be cancelled; enqueued ones cannot be yet."""
    may_cancel = arrivals.seen.definition.overlap is Overlap.CANCEL_RUNNING and bool(
        arrivals.instants
    )
    return may_cancel and all(whereabouts[task] is not Whereabouts.ENQUEUED for task in still_open)


def _make_room(
    steps: Sequence[ScheduleStep], schedules: Firing, cancel: Cancel, now: Callable[[], timedelta]
) -> int:
    """Cancel the tasks that block held fires, and fire those.

    For a limited time only: all other schedules wait meanwhile, and a store may hang. Fires not
    reached stay held and are tried again.
    """
    free, until = list[ScheduleStep](), now() + LONGEST_CANCELLING
    for step in steps:
        if now() > until:
            break
        if all(cancel(task) for task in step.to_cancel):
            arrivals = arrived(held_by(step), step.now_ms)
            free.append(step_of(arrivals, still_open=step.open_tasks, is_free=True))
    return sum(len(step.fires) for step in schedules.advance(free)) if free else 0


def _rest(schedule: Schedule, now_ms: Millis) -> ScheduleStep:
    return ScheduleStep(
        seen=schedule,
        now_ms=now_ms,
        next_at_ms=schedule.next_at_ms,
        look_at_ms=Millis(now_ms + BROKEN_RESTS_MS),
        decided_at_ms=schedule.decided_at_ms,
        held=schedule.held,
        open_tasks=schedule.open_tasks,
    )
