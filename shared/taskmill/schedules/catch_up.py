"""Selects the missed times of a schedule that still fire."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import assert_never

from msgspec import Struct

from taskmill.schedules.calendar import Calendar

ON_TIME = timedelta(seconds=30)
"""An instant that is not older fires in any case: nobody was away, only busy."""

WINDOW = timedelta(days=1)
MOST = 100


class CatchUp(StrEnum):
    """What becomes of the instants at which nobody was there."""

    NONE = "none"
    ONE = "one"
    """The latest fires and stands for all."""
    ALL = "all"
    """The latest within the window fire, up to a number."""


class Lateness(Struct, frozen=True, kw_only=True):
    """How a schedule catches up."""

    catch_up: CatchUp = CatchUp.ONE
    window: timedelta = WINDOW
    most: int = MOST
    """How many instants fire at once at most; those before them are skipped."""
    on_time: timedelta = ON_TIME


class Due(Struct, frozen=True, kw_only=True):
    """What to do about a schedule whose time has come."""

    to_fire: list[datetime]
    skipped: int
    next_at: datetime | None
    """The first instant behind now."""


def due(calendar: Calendar, lateness: Lateness, *, behind: datetime, now: datetime) -> Due:
    """Return which instants fire of those behind *behind*, until which everything is decided.

    That is the last instant that was decided on, or when the schedule was made, edited or resumed.
    The next instant as it was foreseen then would be another one if the zone's rules changed.
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
    """Return what fires of the instants behind *behind* and not behind *edge*."""
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
