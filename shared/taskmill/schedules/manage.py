"""Creates, edits, pauses, resumes and deletes schedules; a pending instant fires exactly once."""

from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from taskmill.core.errors import ScheduleBroken
from taskmill.core.task import Millis
from taskmill.schedules.fire_step import (
    Arrived,
    arrived,
    calendar_of,
    fire_at,
    millis_of,
    moment_of,
    next_behind,
    octets_of_a_fire,
)
from taskmill.schedules.ports import Schedules
from taskmill.schedules.read import WantedSchedule
from taskmill.schedules.schedule import OCTETS_AT_A_TIME, Definition, Draft, Fire, Pausing, Schedule

MOST_BACKFILLED = 1_000
_LOOKS = 10


class KeptSchedule(Struct, frozen=True):
    """The current schedule."""

    schedule: Schedule
    is_new: bool = False


class NoSchedule(Struct, frozen=True):
    """There is no schedule of that name."""


class OfAFolder(Struct, frozen=True):
    """It is declared in the folder of a type, which alone may change it."""


class Taken(Struct, frozen=True):
    """There is a different schedule of that name."""

    schedule: Schedule


class ScheduleChanged(Struct, frozen=True):
    """It was changed since the revision that should be replaced."""

    schedule: Schedule


class Contended(Struct, frozen=True):
    """It changes faster than it could be edited."""


class Fired(Struct, frozen=True):
    """The instants that were requested outside the rule."""

    fires: list[Fire]


class TooMany(Struct, frozen=True):
    """The range has more instants than one request may fire."""

    count: int


class BackfillTooLarge(Struct, frozen=True):
    """The range has so many instants that their requests together are too large."""

    count: int
    most: int


def make(
    request: WantedSchedule, schedules: Schedules, *, tenant: str, by: str, is_managed: bool = False
) -> KeptSchedule | Taken | Contended:
    """Create a schedule; repeating the request returns the same one."""
    for _ in range(_LOOKS):
        draft = _draft(request, None, schedules.now(), tenant, by, is_managed=is_managed)
        is_new = schedules.make(draft)
        schedule = schedules.find(tenant, request.name)
        if schedule is not None and is_new:
            return KeptSchedule(schedule, is_new=True)
        if schedule is not None:
            is_same = schedule.definition == request.definition and request.enabled in {
                None,
                schedule.paused is None,
            }
            return KeptSchedule(schedule) if is_same else Taken(schedule)
    return Contended()


def put(
    request: WantedSchedule, schedules: Schedules, *, tenant: str, by: str, is_managed: bool = False
) -> KeptSchedule | ScheduleChanged | NoSchedule | OfAFolder | Contended:
    """Replace a schedule from now on; without a revision, unconditionally."""
    for _ in range(_LOOKS):
        current = schedules.find(tenant, request.name)
        if current is None and request.revision is not None:
            return NoSchedule()
        if current is not None and current.is_managed and not is_managed:
            return OfAFolder()
        if current is not None and request.revision not in {None, current.revision}:
            return ScheduleChanged(current)
        draft = _draft(request, current, schedules.now(), tenant, by, is_managed=is_managed)
        is_done = schedules.make(draft) if current is None else schedules.change(current, draft)
        schedule = schedules.find(tenant, request.name) if is_done else None
        if schedule is not None:
            return KeptSchedule(schedule, is_new=current is None)
    return Contended()


Change: TypeAlias = KeptSchedule | NoSchedule | Contended


def pause(name: str, schedules: Schedules, *, tenant: str, by: str) -> Change:
    """Pause firing until it is resumed; pausing again keeps the first author."""

    def paused(schedule: Schedule, now: Millis) -> Draft | None:
        if schedule.paused is not None:
            return None
        return _paused(_as_it_is(schedule), _arrivals(schedule, now), Pausing(now, by))

    return _change(name, schedules, tenant, paused)


def resume(name: str, schedules: Schedules, *, tenant: str) -> Change:
    """Resume with the next instant: the pause is not made up for."""

    def resumed(schedule: Schedule, now: Millis) -> Draft | None:
        if schedule.paused is None:
            return None
        comes = next_behind(schedule.definition, now)
        return replace(_as_it_is(schedule), next_at_ms=comes, decided_at_ms=now, paused=None)

    return _change(name, schedules, tenant, resumed)


def delete(
    name: str, schedules: Schedules, *, tenant: str, is_managed: bool = False
) -> KeptSchedule | NoSchedule | OfAFolder | Contended:
    """Delete a schedule and return it; tasks that it fired stay."""
    for _ in range(_LOOKS):
        schedule = schedules.find(tenant, name)
        if schedule is None:
            return NoSchedule()
        if schedule.is_managed and not is_managed:
            return OfAFolder()
        if schedules.delete(schedule):
            return KeptSchedule(schedule)
    return Contended()


def trigger(name: str, schedules: Schedules, *, tenant: str) -> Fired | NoSchedule | Contended:
    """Fire now, in addition to the rule, whatever overlaps and even if paused."""
    for _ in range(_LOOKS):
        schedule = schedules.find(tenant, name)
        if schedule is None:
            return NoSchedule()
        fire = fire_at(schedule, schedules.now(), occasion="trigger:")
        if schedules.trigger(schedule, fire):
            return Fired([fire])
    return Contended()


def backfill(
    name: str, since: Millis, until: Millis, schedules: Schedules, *, tenant: str
) -> Fired | TooMany | BackfillTooLarge | NoSchedule | Contended:
    """Fire every instant from *since* to *until*: those already fired are replays."""
    for _ in range(_LOOKS):
        schedule = schedules.find(tenant, name)
        if schedule is None:
            return NoSchedule()
        calendar = calendar_of(schedule.definition)
        begin, end = moment_of(Millis(since - 1)), moment_of(min(until, schedules.now()))
        count = calendar.count(begin, end)
        if count > MOST_BACKFILLED:
            return TooMany(count)
        most = OCTETS_AT_A_TIME // octets_of_a_fire(schedule)
        if count > most:
            return BackfillTooLarge(count, most)
        instants = calendar.between(begin, end, MOST_BACKFILLED)
        fires = [fire_at(schedule, millis_of(one)) for one in instants]
        if not fires or schedules.backfill(schedule, fires):
            return Fired(fires)
    return Contended()


def _change(
    name: str,
    schedules: Schedules,
    tenant: str,
    make_draft: Callable[[Schedule, Millis], Draft | None],
) -> Change:
    for _ in range(_LOOKS):
        current = schedules.find(tenant, name)
        if current is None:
            return NoSchedule()
        draft = make_draft(current, schedules.now())
        if draft is None:
            return KeptSchedule(current)
        schedule = schedules.find(tenant, name) if schedules.change(current, draft) else None
        if schedule is not None:
            return KeptSchedule(schedule)
    return Contended()


def _as_it_is(schedule: Schedule) -> Draft:
    return Draft(
        tenant=schedule.tenant,
        name=schedule.name,
        definition=schedule.definition,
        is_managed=schedule.is_managed,
        next_at_ms=schedule.next_at_ms,
        decided_at_ms=schedule.decided_at_ms,
        held=schedule.held,
        paused=schedule.paused,
    )


def _draft(  # noqa: PLR0913 - the new and the current state, the time and the author
    request: WantedSchedule,
    current: Schedule | None,
    now: Millis,
    tenant: str,
    by: str,
    *,
    is_managed: bool,
) -> Draft:
    arrivals = _arrivals(current, now) if current else None
    edited_at_ms = arrivals.now_ms if arrivals else now
    anew = Draft(
        tenant=tenant,
        name=request.name,
        definition=request.definition,
        is_managed=is_managed,
        next_at_ms=next_behind(request.definition, edited_at_ms),
        decided_at_ms=edited_at_ms,
    )
    was_paused = current.paused if current else None
    if request.enabled is False or (request.enabled is None and was_paused):
        return _paused(anew, arrivals, was_paused or Pausing(now, by))
    if current is None or arrivals is None or current.next_at_ms is None:
        return anew
    if _times(current.definition) == _times(request.definition):
        same = _as_it_is(current)
        return replace(same, definition=request.definition, is_managed=is_managed)
    update = replace(anew, skipped=arrivals.skipped, missed=arrivals.missed)
    if not arrivals.instants:
        return update
    return replace(update, next_at_ms=arrivals.instants[0], held=arrivals.instants)


def _paused(draft: Draft, arrivals: Arrived | None, pausing: Pausing) -> Draft:
    """Stop upcoming instants; pending ones count as missed."""
    idle = replace(draft, next_at_ms=None, held=(), paused=pausing)
    if arrivals is None:
        return idle
    return replace(idle, skipped=arrivals.skipped, missed=arrivals.missed + len(arrivals.instants))


def _arrivals(schedule: Schedule, now: Millis) -> Arrived:
    """Return the instants of the old rule that have come; for a broken rule, the predicted one."""
    if schedule.next_at_ms is None:
        return Arrived(seen=schedule, now_ms=now, instants=(), next_at_ms=None)
    with suppress(ScheduleBroken):
        return arrived(schedule, now)
    coming = schedule.held or [schedule.next_at_ms]
    instants = [one for one in coming if one <= now]
    return Arrived(seen=schedule, now_ms=now, instants=instants, next_at_ms=None)


def _times(definition: Definition) -> object:
    return definition.cron, definition.every_seconds, definition.timezone, definition.dst
