"""Fires the schedules whose time has come: each instant once, however many schedulers there are."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TypeAlias

from taskmill.domain.errors import ScheduleBroken
from taskmill.domain.firing import Arrived, arrived, held_by, step_of
from taskmill.domain.schedule import Overlap, Schedule, Step, Whereabouts
from taskmill.domain.task import Millis, TaskId
from taskmill.ports.schedules import Firing

BATCH = 250
MOST_BATCHES = 20
"""What remains is fired in the next turn of the chore."""
LEDGER_MAY_LAG_MS = 3_600_000
BROKEN_RESTS_MS = 60_000
LONGEST_CANCELLING = timedelta(seconds=2)
MOST_CANCELLING = 100
"""Of so many schedules at once the tasks before are cancelled, one by one."""

_log = logging.getLogger("taskmill.schedules")


Cancel: TypeAlias = Callable[[TaskId], bool]


def fire(schedules: Firing, *, cancel: Cancel, now: Callable[[], timedelta]) -> int:
    """Fire what is due, and return how many tasks were asked for.

    *cancel* says whether a task was cancelled, or was asked to end; *now* is of a clock that never
    jumps. What a scheduler makes of a schedule happens in one statement, and only if the schedule
    is as it was seen.
    """
    fired, to_cancel = 0, list[Step]()
    for _ in range(MOST_BATCHES):
        due = schedules.due(most=BATCH)
        steps = _steps(due.schedules, due.now_ms, schedules)
        done = _advance(steps, schedules)
        fired += sum(len(step.fires) for step in done)
        to_cancel += [step for step in done if step.to_cancel]
        if not due.has_more:
            break
    return fired + _make_room(to_cancel[:MOST_CANCELLING], schedules, cancel, now)


def _advance(steps: Sequence[Step], schedules: Firing) -> Sequence[Step]:
    return schedules.advance(steps) if steps else ()


def _steps(seen: Sequence[Schedule], now_ms: Millis, schedules: Firing) -> Sequence[Step]:
    asked = [task for one in seen if _looks_back(one) for task in one.open_tasks]
    found = schedules.whereabouts(asked)
    return [_step(one, now_ms, found) for one in seen]


def _looks_back(seen: Schedule) -> bool:
    return seen.definition.overlap is not Overlap.ALLOW


def _step(seen: Schedule, now_ms: Millis, found: Mapping[TaskId, Whereabouts]) -> Step:
    try:
        come = arrived(seen, now_ms)
    except ScheduleBroken as error:
        _log.warning("schedule is broken", extra={"schedule": seen.name, "why": str(error)})
        return _rest(seen, now_ms)
    if not _looks_back(seen):
        return step_of(come, still_open=seen.open_tasks, is_free=True)
    still_open = [task for task in seen.open_tasks if _is_open(task, seen, now_ms, found)]
    step = step_of(come, still_open=still_open, is_free=not still_open)
    if _is_to_cancel(come, still_open, found):
        return replace(step, to_cancel=still_open)
    return step


def _is_open(
    task: TaskId, seen: Schedule, now_ms: Millis, found: Mapping[TaskId, Whereabouts]
) -> bool:
    where = found[task]
    if where is Whereabouts.UNKNOWN:
        return seen.last is not None and now_ms - seen.last.at_ms < LEDGER_MAY_LAG_MS
    return where is not Whereabouts.OVER


def _is_to_cancel(
    come: Arrived, still_open: Sequence[TaskId], found: Mapping[TaskId, Whereabouts]
) -> bool:
    """Say whether tasks are in the way of a fire and are to go; who is enqueued cannot yet."""
    is_wanted = come.seen.definition.overlap is Overlap.CANCEL_RUNNING and bool(come.instants)
    return is_wanted and all(found[task] is not Whereabouts.ENQUEUED for task in still_open)


def _make_room(
    held: Sequence[Step], schedules: Firing, cancel: Cancel, now: Callable[[], timedelta]
) -> int:
    """Cancel what is in the way of fires that are held, and fire them.

    For no longer than that: all others wait meanwhile, and a store may hang. Who is not reached
    stays held, and is looked at again.
    """
    free, until = list[Step](), now() + LONGEST_CANCELLING
    for step in held:
        if now() > until:
            break
        if all(cancel(task) for task in step.to_cancel):
            come = arrived(held_by(step), step.now_ms)
            free.append(step_of(come, still_open=step.open_tasks, is_free=True))
    return sum(len(step.fires) for step in _advance(free, schedules))


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
