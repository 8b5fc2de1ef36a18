"""The wall-clock readings that a cron expression names."""

from bisect import bisect_left
from calendar import monthrange
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta

from msgspec import Struct

WEEK = 7
_LEAP_YEAR = 2024
_DAY = timedelta(days=1)


class Dates(Struct, frozen=True, kw_only=True):
    """Days by their number in the month."""

    numbers: frozenset[int]
    has_last: bool
    is_any: bool

    def holds(self, day: date) -> bool:
        return day.day in self.numbers or (self.has_last and day.day == _last_of(day))


class Weekdays(Struct, frozen=True, kw_only=True):
    """Days by weekday, with Sunday as 0, and by their place in the month."""

    every: frozenset[int]
    nth: frozenset[tuple[int, int]]
    last: frozenset[int]
    is_any: bool

    def holds(self, day: date) -> bool:
        weekday = day.isoweekday() % WEEK
        return (
            weekday in self.every
            or (weekday, (day.day + 6) // WEEK) in self.nth
            or (weekday in self.last and day.day > _last_of(day) - WEEK)
        )


class Cron(Struct, frozen=True, kw_only=True):
    """The readings of an expression; a clock may show one of them never, once or twice."""

    expression: str
    seconds: tuple[int, ...]
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    dates: Dates
    months: frozenset[int]
    weekdays: Weekdays

    def readings(self, first: datetime, end: datetime) -> Iterator[datetime]:
        """Yield the readings from *first* on and before *end*, both whole seconds."""
        for day in self._days(first.date(), end.date()):
            since = first.time() if day == first.date() else time.min
            for moment in self._times(since):
                reading = datetime.combine(day, moment)
                if reading >= end:
                    return
                yield reading

    def count(self, first: datetime, end: datetime) -> int:
        """Return the number of those readings; takes time proportional to the days only."""
        if first >= end:
            return 0
        each = len(self.hours) * len(self.minutes) * len(self.seconds)
        whole = sum(each for _ in self._days(first.date(), end.date()))
        early = self._rank(first.time()) if self._is_day(first.date()) else 0
        late = each - self._rank(end.time()) if self._is_day(end.date()) else 0
        return whole - early - late

    def never_fires(self) -> bool:
        """Return whether none of its months has the requested days, such as 31 February."""
        if self.dates.has_last or not self.weekdays.is_any or self.dates.is_any:
            return False
        longest = max(monthrange(_LEAP_YEAR, month)[1] for month in self.months)
        return min(self.dates.numbers) > longest

    def _is_day(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        if self.dates.is_any or self.weekdays.is_any:
            by_date = self.dates.is_any or self.dates.holds(day)
            return by_date and (self.weekdays.is_any or self.weekdays.holds(day))
        return self.dates.holds(day) or self.weekdays.holds(day)

    def _days(self, first: date, last: date) -> Iterator[date]:
        day = first
        while day <= last:
            if day.month not in self.months:
                day = day.replace(day=_last_of(day))
            elif self._is_day(day):
                yield day
            day += _DAY

    def _times(self, since: time) -> Iterator[time]:
        for hour in self.hours[bisect_left(self.hours, since.hour) :]:
            minute = since.minute if hour == since.hour else 0
            for each in self.minutes[bisect_left(self.minutes, minute) :]:
                is_first = hour == since.hour and each == since.minute
                second = since.second if is_first else 0
                for tick in self.seconds[bisect_left(self.seconds, second) :]:
                    yield time(hour, each, tick)

    def _rank(self, moment: time) -> int:
        """Return how many readings of a day are before *moment*."""
        hour = bisect_left(self.hours, moment.hour)
        minute = second = 0
        if moment.hour in self.hours:
            minute = bisect_left(self.minutes, moment.minute)
            if moment.minute in self.minutes:
                second = bisect_left(self.seconds, moment.second)
        return (hour * len(self.minutes) + minute) * len(self.seconds) + second


def _last_of(day: date) -> int:
    return monthrange(day.year, day.month)[1]
