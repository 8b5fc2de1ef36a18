"""When a schedule fires: a rule in a time zone yields instants, whatever the zone's clocks do."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from hashlib import sha256
from itertools import islice
from typing import TypeAlias

from msgspec import Struct

from taskmill.schedules.clock_changes import Coming, Dst, Readings
from taskmill.schedules.cron_expression import Cron
from taskmill.schedules.read_cron import Malformed, read_cron
from taskmill.schedules.zones import EARLIEST, LATEST, Segment, find_zone, segments

LONGEST_EVERY = timedelta(days=366)
DEFAULT_DST = Dst()
_SECOND = timedelta(seconds=1)
_MILLISECOND = timedelta(milliseconds=1)
_YEAR = timedelta(days=366)
_SEARCH = (_YEAR, 9 * _YEAR, 90 * _YEAR)
"""How far to search, in growing steps. 29 February on a weekday may be 40 years away."""
_MARGIN = timedelta(days=2)
"""Margin after the end of a search, where a jump may still depend on earlier readings."""


class Every(Struct, frozen=True, kw_only=True):
    """A fixed period, counted from 1970 in UTC, so that an edit or a restart shifts nothing."""

    period: timedelta


Rule: TypeAlias = Cron | Every


class Unusable(Struct, frozen=True):
    """An invalid calendar: which field is wrong, and why."""

    field: str
    reason: str


class Calendar(Struct, frozen=True, kw_only=True):
    """A rule in a zone. Its nominal instants are times in UTC, which also identify them."""

    rule: Rule
    zone: str = "UTC"
    dst: Dst = DEFAULT_DST

    def after(self, moment: datetime) -> datetime | None:
        """Return the first instant after *moment*; None if there is none in a hundred years."""
        return next((each.at for each in self._coming(moment) if each.at), None)

    def between(self, moment: datetime, end: datetime, most: int) -> list[datetime]:
        """Return the first *most* instants after *moment* and up to *end*."""
        within = self._within(_behind(moment), _behind(end))
        return list(islice((each.at for each in within if each.at), most))

    def latest(self, moment: datetime, end: datetime, most: int) -> list[datetime]:
        """Return the last *most* instants after *moment* and up to *end*, in order."""
        if len(instants := self.between(moment, end, most + 1)) <= most:
            return instants
        low, high = _seconds(moment), _seconds(end)
        while low < high:  # the earliest second after which there are not too many
            middle = (low + high) // 2
            if self.count(_at(middle), end) <= most:
                high = middle
            else:
                low = middle + 1
        return self.between(_at(low), end, most)

    def count(self, moment: datetime, end: datetime) -> int:
        """Return the number of instants after *moment* and up to *end*."""
        if isinstance(self.rule, Every):
            period = self.rule.period // _SECOND
            return max(_seconds(end) // period - _seconds(moment) // period, 0)
        readings = Readings(cron=self.rule, dst=self.dst)
        parts = self._segments(_behind(moment), _behind(end))
        return sum(readings.count(segment, first, until) for segment, first, until in parts)

    def preview(self, moment: datetime, count: int) -> list[Coming]:
        """Return the next *count* fires, and at most as many skipped readings."""
        entries: list[Coming] = []
        fires = skipped = 0
        for coming in self._coming(moment):
            fires += coming.at is not None
            skipped += coming.at is None
            if coming.at is not None or skipped <= count:
                entries.append(coming)
            if fires >= count:
                break
        return entries

    def _coming(self, moment: datetime) -> Iterator[Coming]:
        first = _behind(moment)
        for span in _SEARCH:
            until = min(first + span, LATEST)
            yield from self._within(first, until)
            first = until

    def _within(self, first: datetime, until: datetime) -> Iterator[Coming]:
        """Yield occurrences from *first* on and before *until*."""
        if isinstance(self.rule, Every):
            yield from self._periods(self.rule.period // _SECOND, first, until)
            return
        readings = Readings(cron=self.rule, dst=self.dst)
        for segment, start, end in self._segments(first, until):
            yield from readings.coming(segment, start, end)

    def _periods(self, period: int, first: datetime, until: datetime) -> Iterator[Coming]:
        zone = find_zone(self.zone)
        for second in range(-(-_seconds(first) // period) * period, _seconds(until), period):
            at = _at(second)
            yield Coming(reading=at.astimezone(zone).replace(tzinfo=None), at=at)

    def _segments(
        self, first: datetime, until: datetime
    ) -> Iterator[tuple[Segment, datetime, datetime]]:
        """Yield the segments with their part from *first* on and before *until*."""
        zone = find_zone(self.zone)
        if zone is None:
            raise LookupError(self.zone)
        for segment in segments(zone, first, until + _MARGIN):
            start, end = max(first, segment.start), min(until, segment.end)
            if start >= end:
                return
            yield segment, start, end


def read_calendar(
    *,
    cron: str | None,
    every_seconds: int | None,
    zone: str = "UTC",
    dst: Dst = DEFAULT_DST,
    now: datetime,
) -> Calendar | Unusable:
    """Return the requested calendar, or which field is wrong and why."""
    rule = _rule(cron, every_seconds)
    if isinstance(rule, Unusable):
        return rule
    if find_zone(zone) is None:
        return Unusable(
            "timezone", f"{zone!r} is not an IANA time zone, such as Europe/Berlin or UTC"
        )
    calendar = Calendar(rule=rule, zone=zone, dst=dst)
    if isinstance(rule, Cron) and (rule.never_fires() or calendar.after(now) is None):
        return Unusable("cron", f"{cron!r} never fires: no date matches it")
    return calendar


def _rule(cron: str | None, every_seconds: int | None) -> Rule | Unusable:
    if cron is not None and every_seconds is not None:
        return Unusable("every_seconds", "give either cron or every_seconds, not both")
    if every_seconds is not None:
        longest = LONGEST_EVERY // _SECOND
        if not 1 <= every_seconds <= longest:
            return Unusable("every_seconds", f"every_seconds must be a number from 1 to {longest}")
        return Every(period=timedelta(seconds=every_seconds))
    if cron is None:
        return Unusable("cron", "give cron or every_seconds, which says when to fire")
    rule = read_cron(cron)
    return Unusable("cron", rule.reason) if isinstance(rule, Malformed) else rule


def jitter(name: str, instant: datetime, within: timedelta) -> timedelta:
    """Return the delay of a fire after its instant: the same for every caller."""
    digest = sha256(f"{name} {_seconds(instant)}".encode()).digest()
    return int.from_bytes(digest[:8]) % max(within // _MILLISECOND, 1) * _MILLISECOND


def _behind(moment: datetime) -> datetime:
    """Return the first whole second after *moment*."""
    return min(max(_at(_seconds(moment) + 1), EARLIEST), LATEST)


def _seconds(moment: datetime) -> int:
    return (moment - EARLIEST) // _SECOND


def _at(seconds: int) -> datetime:
    return EARLIEST + seconds * _SECOND
