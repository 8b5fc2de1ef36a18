"""A time zone as segments in which its clocks do not change."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from msgspec import Struct

EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = datetime(9000, 1, 1, tzinfo=UTC)
_DAY = timedelta(days=1)
_SECOND = timedelta(seconds=1)
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_+/-]{0,63}")
_NOT_IANA = re.compile(r"(posix|right)/.*|localtime|posixrules|Factory")
"""Files beside the zones on some systems; those under right/ count leap seconds."""


class Jump(Struct, frozen=True, kw_only=True):
    """An instant at which clocks change from one offset to another."""

    at: datetime
    before: timedelta
    after: timedelta


class Segment(Struct, frozen=True, kw_only=True):
    """A span from *start* to before *end* in which clocks show UTC plus one offset."""

    start: datetime
    end: datetime
    offset: timedelta
    before: timedelta
    """The offset of the previous segment."""
    after: timedelta
    """The offset of the next segment."""

    def reading(self, instant: datetime) -> datetime:
        """Return what a clock shows, or would show if the segment continued."""
        return (instant + self.offset).replace(tzinfo=None)

    def instant(self, reading: datetime) -> datetime:
        return reading.replace(tzinfo=UTC) - self.offset

    @property
    def fresh(self) -> datetime:
        """The first reading that clocks did not show in the previous segment."""
        return (self.start + max(self.offset, self.before)).replace(tzinfo=None)

    @property
    def repeated(self) -> datetime:
        """The first reading that clocks show again in the next segment."""
        return (self.end + min(self.offset, self.after)).replace(tzinfo=None)

    @property
    def left_out(self) -> tuple[datetime, datetime]:
        """The readings, first and end, that clocks skipped when the segment began."""
        first = (self.start + self.before).replace(tzinfo=None)
        return first, max(first, self.reading(self.start))

    def shifted(self, reading: datetime) -> datetime:
        """Return when a reading would have occurred without the clock change."""
        return reading.replace(tzinfo=UTC) - self.before


def find_zone(name: str) -> ZoneInfo | None:
    """Return the zone of that IANA name, if there is one."""
    if not _NAME.fullmatch(name) or _NOT_IANA.fullmatch(name):
        return None
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # a folder, such as America, raises an OSError
        return None


def segments(zone: ZoneInfo, instant: datetime, until: datetime) -> Iterator[Segment]:
    """Yield the segment of *instant* and the following ones, the last one cut at *until*."""
    start = datetime(max(instant.year - 1, EARLIEST.year), 1, 1, tzinfo=UTC)
    before = offset = _offset(zone, start)
    for jump in _jumps(zone, start.year, until.year):
        if jump.at >= until:
            break
        if jump.at > instant:
            yield Segment(start=start, end=jump.at, offset=offset, before=before, after=jump.after)
        start, before, offset = jump.at, jump.before, jump.after
    yield Segment(start=start, end=until, offset=offset, before=before, after=offset)


def _jumps(zone: ZoneInfo, first: int, last: int) -> Iterator[Jump]:
    for year in range(first, last + 1):
        yield from _jumps_of(zone, year)


@lru_cache(maxsize=2048)
def _jumps_of(zone: ZoneInfo, year: int) -> tuple[Jump, ...]:
    """Return the clock changes of a year; no zone has two within a day."""
    first, end = datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC)
    jumps, day, before = [], first, _offset(zone, first)
    while day < end:
        day += _DAY
        after = _offset(zone, day)
        if after != before:
            jumps.append(Jump(at=_moment(zone, day - _DAY, day), before=before, after=after))
            before = after
    return tuple(jumps)


def _moment(zone: ZoneInfo, early: datetime, late: datetime) -> datetime:
    """Return the first second with the offset at *late*."""
    after = _offset(zone, late)
    while late - early > _SECOND:
        middle = early + (late - early) // 2
        middle -= timedelta(microseconds=middle.microsecond)
        if _offset(zone, middle) == after:
            late = middle
        else:
            early = middle
    return late


def _offset(zone: ZoneInfo, instant: datetime) -> timedelta:
    offset = instant.astimezone(zone).utcoffset()
    if offset is None:  # an IANA zone always has one
        raise ValueError(zone.key)
    return offset
