"""What a due schedule fires, and its next state."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from hashlib import sha256
from typing import assert_never

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from taskmill.core.errors import ScheduleBroken
from taskmill.core.task import Millis, TaskId, TaskType, keyed_id
from taskmill.schedules.catch_up import MOST, Lateness, due
from taskmill.schedules.clock_changes import Dst
from taskmill.schedules.occurrences import Calendar, Unusable, jitter, read_calendar
from taskmill.schedules.schedule import (
    OPEN_TASKS,
    Definition,
    Fire,
    Overlap,
    Schedule,
    ScheduleStep,
)
from taskmill.submission.enqueued import Enqueue

LOOK_AGAIN_MS = 500
MOST_SELDOM_MS = 10_000
"""Growing intervals for checking whether the task that a fire waits for has ended."""

_OCTETS_BESIDE_THE_TASK = 200
"""Its key and its start time."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def moment_of(at_ms: Millis) -> datetime:
    return _EPOCH + at_ms * _MILLISECOND


def millis_of(moment: datetime) -> Millis:
    return Millis((moment - _EPOCH) // _MILLISECOND)


def calendar_of(definition: Definition) -> Calendar:
    """Return the calendar of a definition; ScheduleBroken if its zone no longer exists."""
    return _calendar(definition.cron, definition.every_seconds, definition.timezone, definition.dst)


@lru_cache(maxsize=1_024)
def _calendar(cron: str | None, every_seconds: int | None, zone: str, dst: Dst) -> Calendar:
    calendar = read_calendar(cron=cron, every_seconds=every_seconds, zone=zone, dst=dst, now=_EPOCH)
    if isinstance(calendar, Unusable):
        raise ScheduleBroken(calendar.reason)
    return calendar


def next_behind(definition: Definition, at_ms: Millis) -> Millis | None:
    comes = calendar_of(definition).after(moment_of(at_ms))
    return None if comes is None else millis_of(comes)


def fire_at(schedule: Schedule, nominal_ms: Millis, occasion: str = "") -> Fire:
    """Return the request of an instant: the same, under the same key, on every scheduler.

    On an *occasion* outside the rule it starts at once.
    """
    definition = schedule.definition
    fields = msgspec.json.decode(definition.task, type=dict[str, Raw])
    moment = moment_of(nominal_ms)
    key = f"schedule:{schedule.name}:{occasion}{_text_of(moment)}"
    document: dict[str, object] = {**fields, "idempotency_key": key}
    if definition.jitter_seconds and not occasion:
        within = timedelta(seconds=definition.jitter_seconds)
        document["run_at"] = _text_of(moment + jitter(schedule.name, moment, within))
    request = msgspec.json.encode(document)
    task_type = TaskType(msgspec.json.decode(fields["type"], type=str))
    enqueue = Enqueue(
        tenant=schedule.tenant,
        task_id=keyed_id(schedule.tenant, task_type, key),
        submission=sha256(request).hexdigest()[:32],
        request=request,
    )
    return Fire(nominal_ms, enqueue)


def _text_of(moment: datetime) -> str:
    precision = "milliseconds" if moment.microsecond else "seconds"
    return moment.isoformat(timespec=precision).replace("+00:00", "Z")


class Arrived(Struct, frozen=True, kw_only=True):
    """Instants that have come and must be fired, unless they overlap."""

    seen: Schedule
    now_ms: Millis
    instants: Sequence[Millis]
    next_at_ms: Millis | None
    """The first instant after now."""
    missed: int = 0
    skipped: int = 0


def arrived(schedule: Schedule, now_ms: Millis) -> Arrived:
    """Return the instants that have come since the last decision."""
    behind, now = moment_of(schedule.decided_at_ms), moment_of(max(now_ms, schedule.decided_at_ms))
    calendar, definition = calendar_of(schedule.definition), schedule.definition
    lateness = Lateness(
        catch_up=definition.catch_up, window=timedelta(seconds=definition.catch_up_window_seconds)
    )
    decision = due(calendar, lateness, behind=behind, now=now)
    arrivals = Arrived(
        seen=schedule,
        now_ms=millis_of(now),
        instants=[millis_of(one) for one in decision.to_fire],
        next_at_ms=None if decision.next_at is None else millis_of(decision.next_at),
        missed=decision.skipped,
    )
    if not schedule.held:
        return arrivals
    others = len(schedule.held) - 1 + calendar.count(behind, now)
    match definition.overlap:
        case Overlap.ALLOW:
            instants = [*schedule.held, *arrivals.instants]
            excess = max(len(instants) - MOST, 0)
            return replace(arrivals, instants=instants[excess:], missed=arrivals.missed + excess)
        case Overlap.CANCEL_RUNNING:
            latest = [millis_of(one) for one in calendar.latest(behind, now, 1)]
            return replace(
                arrivals, instants=latest or schedule.held[-1:], skipped=others, missed=0
            )
        case Overlap.SKIP | Overlap.QUEUE_ONE:
            return replace(arrivals, instants=schedule.held[:1], skipped=others, missed=0)
        case _:
            assert_never(definition.overlap)


def octets_of_a_fire(schedule: Schedule) -> int:
    """Return the maximum size of a request without building it."""
    return schedule.definition.octets + len(schedule.name) + _OCTETS_BESIDE_THE_TASK


def step_of(
    arrivals: Arrived, *, still_open: Sequence[TaskId], is_free: bool, most: int = MOST
) -> ScheduleStep:
    """Return the next step of a schedule; without room, its fire waits or is skipped.

    *still_open* are tasks of earlier fires that have not ended. If there are more than *most*
    instants, the rest is held.
    """
    instants, last = arrivals.instants, len(arrivals.instants) - 1
    ways = _Ways(arrivals, still_open)
    if not instants:
        return ways.fire([])
    match arrivals.seen.definition.overlap:
        case Overlap.ALLOW:
            return ways.fire(instants[:most], held=instants[most:])
        case Overlap.SKIP if is_free:
            return ways.fire(instants[:1], skipped=last)
        case Overlap.SKIP:
            return ways.fire([], skipped=len(instants))
        case Overlap.QUEUE_ONE if is_free:
            return ways.fire(instants[:1], held=instants[1:2], skipped=max(last - 1, 0))
        case Overlap.QUEUE_ONE:
            # Instants after the waiting one are counted when that one fires.
            waiting = arrivals.seen.held or instants[:1]
            return ways.hold(waiting, skipped=-arrivals.skipped)
        case Overlap.CANCEL_RUNNING if is_free:
            return ways.fire(instants[-1:], skipped=last)
        case Overlap.CANCEL_RUNNING:
            return ways.hold(instants[-1:], skipped=last)
        case overlap:
            assert_never(overlap)


def held_by(step: ScheduleStep) -> Schedule:
    """Return the schedule after a step that fired nothing."""
    return replace(
        step.seen,
        next_at_ms=step.next_at_ms,
        decided_at_ms=step.decided_at_ms,
        held=step.held,
        open_tasks=step.open_tasks,
    )


class _Ways(Struct, frozen=True):
    arrived: Arrived
    still_open: Sequence[TaskId]

    def fire(
        self, instants: Sequence[Millis], *, skipped: int = 0, held: Sequence[Millis] = ()
    ) -> ScheduleStep:
        arrivals = self.arrived
        fires = [fire_at(arrivals.seen, one) for one in instants]
        tasks = [*self.still_open, *(fire.request.task_id for fire in fires)]
        comes = held[0] if held else arrivals.next_at_ms
        return ScheduleStep(
            seen=arrivals.seen,
            now_ms=arrivals.now_ms,
            fires=fires,
            next_at_ms=comes,
            look_at_ms=comes,
            decided_at_ms=arrivals.now_ms,
            held=held,
            skipped=arrivals.skipped + skipped,
            missed=arrivals.missed,
            open_tasks=tasks[-OPEN_TASKS:],
        )

    def hold(self, instants: Sequence[Millis], *, skipped: int) -> ScheduleStep:
        arrivals, nominal_ms = self.arrived, instants[0]
        rest_ms = min(max((arrivals.now_ms - nominal_ms) // 8, LOOK_AGAIN_MS), MOST_SELDOM_MS)
        return ScheduleStep(
            seen=arrivals.seen,
            now_ms=arrivals.now_ms,
            next_at_ms=nominal_ms,
            look_at_ms=Millis(arrivals.now_ms + rest_ms),
            decided_at_ms=max(nominal_ms, arrivals.seen.decided_at_ms),
            held=instants,
            skipped=arrivals.skipped + skipped,
            missed=arrivals.missed,
            open_tasks=self.still_open[-OPEN_TASKS:],
        )
