"""Fires the schedules whose time has come: each instant once, however many schedulers there are."""

import logging
from collections.abc import Callable, Mapping, Sequence

from taskmill.domain.errors import ScheduleBroken
from taskmill.domain.firing import Arrived, arrived, step_of
from taskmill.domain.schedule import Overlap, Schedule, Step, Whereabouts
from taskmill.domain.task import Millis, TaskId
from taskmill.ports.schedules import Firing

BATCH = 250
MOST_BATCHES = 20
"""What remains is fired in the next turn of the chore."""
LEDGER_MAY_LAG_MS = 3_600_000
BROKEN_RESTS_MS = 60_000

_log = logging.getLogger("taskmill.schedules")


def fire(schedules: Firing, *, cancel: Callable[[TaskId], bool]) -> int:
    """Fire what is due, and return how many tasks were asked for.

    *cancel* says whether a task was cancelled, or was asked to end. What a scheduler makes of a
    schedule happens in one statement, and only if the schedule is as it was seen.
    """
    fired = 0
    for _ in range(MOST_BATCHES):
        due = schedules.due(most=BATCH)
        steps = _steps(due.schedules, due.now_ms, schedules, cancel)
        done = schedules.advance(steps) if steps else ()
        fired += sum(len(step.fires) for step in done)
        if not due.has_more:
            break
    return fired


def _steps(
    seen: Sequence[Schedule], now_ms: Millis, schedules: Firing, cancel: Callable[[TaskId], bool]
) -> Sequence[Step]:
    asked = [task for one in seen if _looks_back(one) for task in one.open_tasks]
    found = schedules.whereabouts(asked)
    return [_step(one, now_ms, found, cancel) for one in seen]


def _looks_back(seen: Schedule) -> bool:
    return seen.definition.overlap is not Overlap.ALLOW


def _step(
    seen: Schedule,
    now_ms: Millis,
    found: Mapping[TaskId, Whereabouts],
    cancel: Callable[[TaskId], bool],
) -> Step:
    try:
        come = arrived(seen, now_ms)
    except ScheduleBroken as error:
        _log.warning("schedule is broken", extra={"schedule": seen.name, "why": str(error)})
        return _rest(seen, now_ms)
    if not _looks_back(seen):
        return step_of(come, still_open=seen.open_tasks, is_free=True)
    still_open = [task for task in seen.open_tasks if _is_open(task, seen, now_ms, found)]
    is_free = _make_room(come, still_open, found, cancel)
    return step_of(come, still_open=still_open, is_free=is_free)


def _is_open(
    task: TaskId, seen: Schedule, now_ms: Millis, found: Mapping[TaskId, Whereabouts]
) -> bool:
    where = found[task]
    if where is Whereabouts.UNKNOWN:
        return seen.last is not None and now_ms - seen.last.at_ms < LEDGER_MAY_LAG_MS
    return where is not Whereabouts.OVER


def _make_room(
    come: Arrived,
    still_open: Sequence[TaskId],
    found: Mapping[TaskId, Whereabouts],
    cancel: Callable[[TaskId], bool],
) -> bool:
    """Say whether nothing is in the way of the next fire, and cancel it where that is wanted."""
    if come.seen.definition.overlap is not Overlap.CANCEL_RUNNING or not come.instants:
        return not still_open
    if any(found[task] is Whereabouts.ENQUEUED for task in still_open):
        return False  # nobody can cancel it yet
    cancelled = [cancel(task) for task in still_open]
    return all(cancelled)


def _rest(seen: Schedule, now_ms: Millis) -> Step:
    return Step(
        seen=seen,
        now_ms=now_ms,
        next_at_ms=seen.next_at_ms,
        look_at_ms=Millis(now_ms + BROKEN_RESTS_MS),
        decided_at_ms=seen.decided_at_ms,
        held=seen.held,
        open_tasks=seen.open_tasks,
    )
