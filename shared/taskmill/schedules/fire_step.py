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
    result = definition
    return _calendar(result.cron, result.every_seconds, result.timezone, result.dst)


@lru_cache(maxsize=1_024)
def _calendar(cron: str | None, every_seconds: int | None, zone: str, dst: Dst) -> Calendar:
    read = read_calendar(cron=cron, every_seconds=every_seconds, zone=zone, dst=dst, now=_EPOCH)
    if isinstance(read, Unusable):
        raise ScheduleBroken(read.reason)
    return read


def next_behind(definition: Definition, at_ms: Millis) -> Millis | None:
    comes = calendar_of(definition).after(moment_of(at_ms))
    return None if comes is None else millis_of(comes)


def fire_at(seen: Schedule, nominal_ms: Millis, occasion: str = "") -> Fire:
    """Return the request of an instant: the same under the same key, whoever computes it.

    On an *occasion* outside the rule it starts at once.
    """
    definition = seen.definition
    fields = msgspec.json.decode(definition.task, type=dict[str, Raw])
    moment = moment_of(nominal_ms)
    key = f"schedule:{seen.name}:{occasion}{_text_of(moment)}"
    named: dict[str, object] = {**fields, "idempotency_key": key}
    if definition.jitter_seconds and not occasion:
        within = timedelta(seconds=definition.jitter_seconds)
        named["run_at"] = _text_of(moment + jitter(seen.name, moment, within))
    request = msgspec.json.encode(named)
    task_type = TaskType(msgspec.json.decode(fields["type"], type=str))
    enqueue = Enqueue(
        tenant=seen.tenant,
        task_id=keyed_id(seen.tenant, task_type, key),
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


def arrived(seen: Schedule, now_ms: Millis) -> Arrived:
    """Return the instants that have come since the last decision."""
    behind, now = moment_of(seen.decided_at_ms), moment_of(max(now_ms, seen.decided_at_ms))
    calendar, definition = calendar_of(seen.definition), seen.definition
    lateness = Lateness(
        catch_up=definition.catch_up, window=timedelta(seconds=definition.catch_up_window_seconds)
    )
    result = due(calendar, lateness, behind=behind, now=now)
    come = Arrived(
        seen=seen,
        now_ms=millis_of(now),
        instants=[millis_of(one) for one in result.to_fire],
        next_at_ms=None if result.next_at is None else millis_of(result.next_at),
        missed=result.skipped,
    )
    if not seen.held:
        return come
    others = len(seen.held) - 1 + calendar.count(behind, now)
    match definition.overlap:
        case Overlap.ALLOW:
            instants = [*seen.held, *come.instants]
            cut = max(len(instants) - MOST, 0)
            return replace(come, instants=instants[cut:], missed=come.missed + cut)
        case Overlap.CANCEL_RUNNING:
            latest = [millis_of(one) for one in calendar.latest(behind, now, 1)]
            return replace(come, instants=latest or seen.held[-1:], skipped=others, missed=0)
        case Overlap.SKIP | Overlap.QUEUE_ONE:
            return replace(come, instants=seen.held[:1], skipped=others, missed=0)
        case _:
            assert_never(definition.overlap)


def octets_of_a_fire(seen: Schedule) -> int:
    """Return the maximum size of a request without building it."""
    return seen.definition.octets + len(seen.name) + _OCTETS_BESIDE_THE_TASK


def step_of(
    arrived: Arrived, *, still_open: Sequence[TaskId], is_free: bool, most: int = MOST
) -> ScheduleStep:
    """Return the next step of a schedule; without room, its fire waits or is skipped.

    *still_open* are tasks of earlier fires that have not ended. If there are more than *most*
    instants, the rest is held.
    """
    instants, last = arrived.instants, len(arrived.instants) - 1
    ways = _Ways(arrived, still_open)
    if not instants:
        return ways.fire([])
    match arrived.seen.definition.overlap:
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
            held = arrived.seen.held or instants[:1]
            return ways.hold(held, skipped=-arrived.skipped)
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
        arrived = self.arrived
        fires = [fire_at(arrived.seen, one) for one in instants]
        tasks = [*self.still_open, *(fire.request.task_id for fire in fires)]
        comes = held[0] if held else arrived.next_at_ms
        return ScheduleStep(
            seen=arrived.seen,
            now_ms=arrived.now_ms,
            fires=fires,
            next_at_ms=comes,
            look_at_ms=comes,
            decided_at_ms=arrived.now_ms,
            held=held,
            skipped=arrived.skipped + skipped,
            missed=arrived.missed,
            open_tasks=tasks[-OPEN_TASKS:],
        )

    def hold(self, held: Sequence[Millis], *, skipped: int) -> ScheduleStep:
        arrived, nominal_ms = self.arrived, held[0]
        rest_ms = min(max((arrived.now_ms - nominal_ms) // 8, LOOK_AGAIN_MS), MOST_SELDOM_MS)
        return ScheduleStep(
            seen=arrived.seen,
            now_ms=arrived.now_ms,
            next_at_ms=nominal_ms,
            look_at_ms=Millis(arrived.now_ms + rest_ms),
            decided_at_ms=max(nominal_ms, arrived.seen.decided_at_ms),
            held=held,
            skipped=arrived.skipped + skipped,
            missed=arrived.missed,
            open_tasks=self.still_open[-OPEN_TASKS:],
        )
