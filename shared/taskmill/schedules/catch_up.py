"""Selects the missed times of a schedule that still fire."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import assert_never

from msgspec import Struct

from taskmill.schedules.occurrences import Calendar

ON_TIME = timedelta(seconds=30)
"""A younger instant always fires: the schedulers were only busy, not away."""

WINDOW = timedelta(days=1)
MOST = 100


class CatchUp(StrEnum):
    """What to do with instants that no scheduler fired in time."""

    NONE = "none"
    ONE = "one"
    """Only the latest fires."""
    ALL = "all"
    """The latest ones within the window fire, up to a limit."""


class Lateness(Struct, frozen=True, kw_only=True):
    """How a schedule catches up."""

    catch_up: CatchUp = CatchUp.ONE
    window: timedelta = WINDOW
    most: int = MOST
    """Maximum number of instants that fire at once; earlier ones are skipped."""
    on_time: timedelta = ON_TIME


class Due(Struct, frozen=True, kw_only=True):
    """What to do about a due schedule."""

    to_fire: list[datetime]
    skipped: int
    next_at: datetime | None
    """The first instant after now."""


def due(calendar: Calendar, lateness: Lateness, *, behind: datetime, now: datetime) -> Due:
    """Return which instants after *behind* fire; everything up to *behind* is decided.

    That is the last decided instant, or when the schedule was created, edited or resumed. The next
    instant as predicted then would differ if the zone's rules changed.
    """
    edge = max(behind, now - lateness.on_time)
    on_time = calendar.latest(edge, now, lateness.most)
    late = _late(calendar, lateness, behind, edge, has_other=bool(on_time))
    to_fire = [*late, *on_time][-lateness.most :]
    return Due(
        to_fire=to_fire,
        skipped=calendar.count(behind, now) - len(to_fire),
        next_at=calendar.after(now),
    )


def _late(
    calendar: Calendar, lateness: Lateness, behind: datetime, edge: datetime, *, has_other: bool
) -> list[datetime]:
    """Return which instants after *behind* and up to *edge* fire."""
    match lateness.catch_up:
        case CatchUp.NONE:
            return []
        case CatchUp.ONE:
            return [] if has_other else calendar.latest(behind, edge, 1)
        case CatchUp.ALL:
            since = max(behind, edge + lateness.on_time - lateness.window)
            return calendar.latest(min(since, edge), edge, lateness.most)
        case _:
            assert_never(lateness.catch_up)
