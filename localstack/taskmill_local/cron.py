"""The platform's schedule expressions: rate(…) and six-field cron(…), in UTC."""

import calendar
import re
from calendar import monthrange
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TypeAlias

from taskmill_local.errors import PlatformError

_MINUTE = timedelta(minutes=1)
_UNITS = {"minute": _MINUTE, "hour": timedelta(hours=1), "day": timedelta(days=1)}
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_FIELDS = 6
_HINT = "Write rate(5 minutes) or cron(minutes hours day-of-month month day-of-week year)."

IsDay: TypeAlias = Callable[[date], bool]


class ScheduleMalformed(PlatformError):
    """The platform does not accept this schedule expression."""

    def __init__(self, expression: str, reason: str) -> None:
        super().__init__(f"The schedule {expression!r} cannot be used: {reason}. {_HINT}")


class _Refused(Exception):
    """Part of an expression is invalid; the message is the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    period: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Cron:
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    months: tuple[int, ...]
    years: tuple[int, ...]
    is_day: IsDay

    def next_after(self, moment: datetime) -> datetime | None:
        """Return the first instant after *moment*, if there is one."""
        for day in self._days_from(moment.date()):
            for hour in self.hours:
                for minute in self.minutes:
                    instant = datetime(day.year, day.month, day.day, hour, minute, tzinfo=UTC)
                    if instant > moment:
                        return instant
        return None

    def _days_from(self, first: date) -> Iterator[date]:
        for year in self.years:
            for month in self.months:
                if (year, month) < (first.year, first.month):
                    continue
                for number in range(1, monthrange(year, month)[1] + 1):
                    day = date(year, month, number)
                    if day >= first and self.is_day(day):
                        yield day


def parse(expression: str) -> Rate | Cron:
    """Parse a schedule expression, or raise with what is wrong."""
    try:
        if match := re.fullmatch(r"rate\((.*)\)", expression):
            return _rate(match[1])
        if match := re.fullmatch(r"cron\((.*)\)", expression):
            return _cron(match[1].upper().split())
    except _Refused as refused:
        raise ScheduleMalformed(expression, str(refused)) from None
    raise ScheduleMalformed(expression, "it is neither a rate nor a cron expression")


def _rate(text: str) -> Rate:
    match = re.fullmatch(r"([1-9][0-9]{0,5}) (minute|hour|day)(s?)", text)
    if not match:
        raise _Refused("a rate is a positive whole number of minutes, hours or days")
    number, unit, plural = int(match[1]), match[2], bool(match[3])
    if plural == (number == 1):
        raise _Refused(f"it is {'one ' + unit if number == 1 else 'several ' + unit + 's'}")
    return Rate(period=number * _UNITS[unit])


def _cron(fields: list[str]) -> Cron:
    if len(fields) != _FIELDS:
        raise _Refused(f"a cron expression has six fields, not {len(fields)}")
    minutes, hours, day, month, weekday, year = fields
    if (day == "?") == (weekday == "?"):
        raise _Refused("exactly one of day-of-month and day-of-week is '?'")
    return Cron(
        minutes=_numbers(minutes, range(60), {}),
        hours=_numbers(hours, range(24), {}),
        months=_numbers(month, range(1, 13), {name: n for n, name in enumerate(_MONTHS, 1)}),
        years=_numbers(year, range(1970, 2200), {}),
        is_day=_by_weekday(weekday) if day == "?" else _by_date(day),
    )


def _numbers(field: str, allowed: range, names: Mapping[str, int]) -> tuple[int, ...]:
    numbers: set[int] = set()
    for part in field.split(","):
        span, slash, step = part.partition("/")
        first, dash, last = span.partition("-")
        low = allowed[0] if span == "*" else _number(first, allowed, names)
        if dash:
            high = _number(last, allowed, names)
        else:
            high = allowed[-1] if slash or span == "*" else low
        if low > high:
            raise _Refused(f"the range {span} runs backwards")
        stride = _number(step, range(1, len(allowed) + 1), {}) if slash else 1
        numbers.update(range(low, high + 1, stride))
    return tuple(sorted(numbers))


def _number(text: str, allowed: range, names: Mapping[str, int]) -> int:
    if text in names:
        return names[text]
    if not re.fullmatch("[0-9]{1,4}", text) or int(text) not in allowed:
        raise _Refused(f"{text!r} is not a number from {allowed[0]} to {allowed[-1]}")
    return int(text)


def _by_date(field: str) -> IsDay:
    return _any_of([_date_part(part) for part in field.split(",")])


def _date_part(part: str) -> IsDay:
    if part == "L":
        return lambda day: day.day == _last_of(day)
    if part.endswith("W"):
        number = _number(part[:-1], range(1, 32), {})
        return lambda day: number <= _last_of(day) and day == _nearest_weekday(day, number)
    numbers = _numbers(part, range(1, 32), {})
    return lambda day: day.day in numbers


def _by_weekday(field: str) -> IsDay:
    parts = field.split(",")
    if "#" in field and len(parts) > 1:
        raise _Refused("in day-of-week, '#' cannot be combined with other values")
    return _any_of([_weekday_part(part) for part in parts])


def _weekday_part(part: str) -> IsDay:
    allowed, names = range(1, 8), {name: n for n, name in enumerate(_WEEKDAYS, 1)}
    if part == "L":
        part = "SAT"  # the last day of the week
    if part.endswith("L"):
        last = _number(part[:-1], allowed, names)
        return lambda day: _weekday(day) == last and day.day > _last_of(day) - 7
    name, hash_sign, which = part.partition("#")
    if hash_sign:
        weekday, nth = _number(name, allowed, names), _number(which, range(1, 6), {})
        return lambda day: _weekday(day) == weekday and (day.day + 6) // 7 == nth
    numbers = _numbers(part, allowed, names)
    return lambda day: _weekday(day) in numbers


def _any_of(tests: list[IsDay]) -> IsDay:
    return lambda day: any(test(day) for test in tests)


def _weekday(day: date) -> int:
    """Return the weekday in the platform's numbering: Sunday is 1."""
    return day.isoweekday() % 7 + 1


def _last_of(day: date) -> int:
    return monthrange(day.year, day.month)[1]


def _nearest_weekday(month: date, number: int) -> date:
    """Return the working day nearest to that day within the month."""
    day = month.replace(day=number)
    match day.weekday():
        case calendar.SATURDAY:
            return day + timedelta(days=2 if number == 1 else -1)
        case calendar.SUNDAY:
            return day + timedelta(days=-2 if number == _last_of(day) else 1)
        case _:
            return day
