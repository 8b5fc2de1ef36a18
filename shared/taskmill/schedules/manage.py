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
    wanted: WantedSchedule, schedules: Schedules, *, tenant: str, by: str, is_managed: bool = False
) -> KeptSchedule | Taken | Contended:
    """Create a schedule; repeating the request returns the same one."""
    for _ in range(_LOOKS):
        draft = _draft(wanted, None, schedules.now(), tenant, by, is_managed=is_managed)
        is_new = schedules.make(draft)
        kept = schedules.find(tenant, wanted.name)
        if kept is not None and is_new:
            return KeptSchedule(kept, is_new=True)
        if kept is not None:
            is_same = kept.definition == wanted.definition and wanted.enabled in {
                None,
                kept.paused is None,
            }
            return KeptSchedule(kept) if is_same else Taken(kept)
    return Contended()


def put(
    wanted: WantedSchedule, schedules: Schedules, *, tenant: str, by: str, is_managed: bool = False
) -> KeptSchedule | ScheduleChanged | NoSchedule | OfAFolder | Contended:
    """Replace a schedule from now on; without a revision, unconditionally."""
    for _ in range(_LOOKS):
        seen = schedules.find(tenant, wanted.name)
        if seen is None and wanted.revision is not None:
            return NoSchedule()
        if seen is not None and seen.is_managed and not is_managed:
            return OfAFolder()
        if seen is not None and wanted.revision not in {None, seen.revision}:
            return ScheduleChanged(seen)
        draft = _draft(wanted, seen, schedules.now(), tenant, by, is_managed=is_managed)
        is_done = schedules.make(draft) if seen is None else schedules.change(seen, draft)
        kept = schedules.find(tenant, wanted.name) if is_done else None
        if kept is not None:
            return KeptSchedule(kept, is_new=seen is None)
    return Contended()


Change: TypeAlias = KeptSchedule | NoSchedule | Contended


def pause(name: str, schedules: Schedules, *, tenant: str, by: str) -> Change:
    """Pause firing until it is resumed; pausing again keeps the first author."""

    def paused(seen: Schedule, now: Millis) -> Draft | None:
        if seen.paused is not None:
            return None
        return _paused(_as_it_is(seen), _come(seen, now), Pausing(now, by))

    return _change(name, schedules, tenant, paused)


def resume(name: str, schedules: Schedules, *, tenant: str) -> Change:
    """Resume with the next instant: the pause is not made up for."""

    def resumed(seen: Schedule, now: Millis) -> Draft | None:
        if seen.paused is None:
            return None
        comes = next_behind(seen.definition, now)
        return replace(_as_it_is(seen), next_at_ms=comes, decided_at_ms=now, paused=None)

    return _change(name, schedules, tenant, resumed)


def delete(
    name: str, schedules: Schedules, *, tenant: str, is_managed: bool = False
) -> KeptSchedule | NoSchedule | OfAFolder | Contended:
    """Delete a schedule and return it; tasks that it fired stay."""
    for _ in range(_LOOKS):
        seen = schedules.find(tenant, name)
        if seen is None:
            return NoSchedule()
        if seen.is_managed and not is_managed:
            return OfAFolder()
        if schedules.delete(seen):
            return KeptSchedule(seen)
    return Contended()


def trigger(name: str, schedules: Schedules, *, tenant: str) -> Fired | NoSchedule | Contended:
    """Fire now, in addition to the rule, whatever overlaps and even if paused."""
    for _ in range(_LOOKS):
        seen = schedules.find(tenant, name)
        if seen is None:
            return NoSchedule()
        fire = fire_at(seen, schedules.now(), occasion="trigger:")
        if schedules.trigger(seen, fire):
            return Fired([fire])
    return Contended()


def backfill(
    name: str, since: Millis, until: Millis, schedules: Schedules, *, tenant: str
) -> Fired | TooMany | BackfillTooLarge | NoSchedule | Contended:
    """Fire every instant from *since* to *until*: those already fired are replays."""
    for _ in range(_LOOKS):
        seen = schedules.find(tenant, name)
        if seen is None:
            return NoSchedule()
        calendar = calendar_of(seen.definition)
        begin, end = moment_of(Millis(since - 1)), moment_of(min(until, schedules.now()))
        count = calendar.count(begin, end)
        if count > MOST_BACKFILLED:
            return TooMany(count)
        most = OCTETS_AT_A_TIME // octets_of_a_fire(seen)
        if count > most:
            return BackfillTooLarge(count, most)
        instants = calendar.between(begin, end, MOST_BACKFILLED)
        fires = [fire_at(seen, millis_of(one)) for one in instants]
        if not fires or schedules.backfill(seen, fires):
            return Fired(fires)
    return Contended()


def _change(
    name: str,
    schedules: Schedules,
    tenant: str,
    changed: Callable[[Schedule, Millis], Draft | None],
) -> Change:
    for _ in range(_LOOKS):
        seen = schedules.find(tenant, name)
        if seen is None:
            return NoSchedule()
        draft = changed(seen, schedules.now())
        if draft is None:
            return KeptSchedule(seen)
        kept = schedules.find(tenant, name) if schedules.change(seen, draft) else None
        if kept is not None:
            return KeptSchedule(kept)
    return Contended()


def _as_it_is(seen: Schedule) -> Draft:
    return Draft(
        tenant=seen.tenant,
        name=seen.name,
        definition=seen.definition,
        is_managed=seen.is_managed,
        next_at_ms=seen.next_at_ms,
        decided_at_ms=seen.decided_at_ms,
        held=seen.held,
        paused=seen.paused,
    )


def _draft(  # noqa: PLR0913 - what is wanted, what is there, and by whom
    wanted: WantedSchedule,
    seen: Schedule | None,
    now: Millis,
    tenant: str,
    by: str,
    *,
    is_managed: bool,
) -> Draft:
    come = _come(seen, now) if seen else None
    edited_at_ms = come.now_ms if come else now
    anew = Draft(
        tenant=tenant,
        name=wanted.name,
        definition=wanted.definition,
        is_managed=is_managed,
        next_at_ms=next_behind(wanted.definition, edited_at_ms),
        decided_at_ms=edited_at_ms,
    )
    was_paused = seen.paused if seen else None
    if wanted.enabled is False or (wanted.enabled is None and was_paused):
        return _paused(anew, come, was_paused or Pausing(now, by))
    if seen is None or come is None or seen.next_at_ms is None:
        return anew
    if _times(seen.definition) == _times(wanted.definition):
        kept = _as_it_is(seen)
        return replace(kept, definition=wanted.definition, is_managed=is_managed)
    edited = replace(anew, skipped=come.skipped, missed=come.missed)
    if not come.instants:
        return edited
    return replace(edited, next_at_ms=come.instants[0], held=come.instants)


def _paused(draft: Draft, come: Arrived | None, paused: Pausing) -> Draft:
    """Stop upcoming instants; pending ones count as missed."""
    idle = replace(draft, next_at_ms=None, held=(), paused=paused)
    if come is None:
        return idle
    return replace(idle, skipped=come.skipped, missed=come.missed + len(come.instants))


def _come(seen: Schedule, now: Millis) -> Arrived:
    """Return the instants of the old rule that have come; for a broken rule, the predicted one."""
    if seen.next_at_ms is None:
        return Arrived(seen=seen, now_ms=now, instants=(), next_at_ms=None)
    with suppress(ScheduleBroken):
        return arrived(seen, now)
    foreseen = seen.held or [seen.next_at_ms]
    come = [one for one in foreseen if one <= now]
    return Arrived(seen=seen, now_ms=now, instants=come, next_at_ms=None)


def _times(definition: Definition) -> object:
    return definition.cron, definition.every_seconds, definition.timezone, definition.dst
