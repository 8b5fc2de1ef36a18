"""Parses cron expressions as most crons do, and refuses parts on which they differ."""

import re
from collections.abc import Mapping

from msgspec import Struct

from taskmill.schedules.cron_expression import WEEK, Cron, Dates, Weekdays

_NICKNAMES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_LONGEST = 256
_FIVE, _SIX = 5, 6
_MONTHS = {
    name: number
    for number, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1
    )
}
_WEEKDAYS = {
    name: number for number, name in enumerate(("sun", "mon", "tue", "wed", "thu", "fri", "sat"))
}


class Malformed(Struct, frozen=True):
    """An expression that cannot be parsed, and why."""

    reason: str


class _Refused(Exception):
    """Part of an expression is invalid; the message is the reason."""


class _Field(Struct, frozen=True, kw_only=True):
    name: str
    low: int
    high: int
    names: Mapping[str, int]

    @property
    def top(self) -> int:
        """The end of an open range; Sunday, which is both 0 and 7, is counted once."""
        return WEEK - 1 if self.high == WEEK else self.high


_SECOND = _Field(name="second", low=0, high=59, names={})
_MINUTE = _Field(name="minute", low=0, high=59, names={})
_HOUR = _Field(name="hour", low=0, high=23, names={})
_DATE = _Field(name="day of the month", low=1, high=31, names={})
_MONTH = _Field(name="month", low=1, high=12, names=_MONTHS)
_WEEKDAY = _Field(name="day of the week", low=0, high=7, names=_WEEKDAYS)


def read_cron(expression: str) -> Cron | Malformed:
    """Parse five fields (minute, hour, day, month, weekday), or six: the sixth is the second."""
    try:
        return _read(expression)
    except _Refused as refused:
        return Malformed(str(refused))


def _read(expression: str) -> Cron:
    if len(expression) > _LONGEST:
        raise _Refused(f"an expression may have at most {_LONGEST} characters")
    text = expression.strip(" \t").lower()
    if text.startswith("@") and text not in _NICKNAMES:
        raise _Refused(f"{text!r} is not one of {', '.join(_NICKNAMES)}")
    fields = re.split(r"[ \t]+", _NICKNAMES.get(text, text))
    if len(fields) not in (_FIVE, _SIX):
        raise _Refused(
            "an expression must have five fields (minute, hour, day of the month, month, day of"
            f" the week) or a sixth one for the second, not {len(fields)}"
        )
    minute, hour, day, month, weekday, *second = fields
    return Cron(
        expression=expression,
        seconds=_ordered(second[0], _SECOND) if second else (0,),
        minutes=_ordered(minute, _MINUTE),
        hours=_ordered(hour, _HOUR),
        dates=_dates(day),
        months=frozenset(_numbers(month, _MONTH)),
        weekdays=_weekdays(weekday),
    )


def _ordered(text: str, field: _Field) -> tuple[int, ...]:
    return tuple(sorted(_numbers(text, field)))


def _dates(text: str) -> Dates:
    parts = text.split(",")
    numbers = {n for part in parts if part != "l" for n in _span(part, _DATE)}
    return Dates(numbers=frozenset(numbers), has_last="l" in parts, is_any=text == "*")


def _weekdays(text: str) -> Weekdays:
    every: set[int] = set()
    nth: set[tuple[int, int]] = set()
    last: set[int] = set()
    for part in text.split(","):
        name, hash_sign, which = part.partition("#")
        if hash_sign:
            if which not in {"1", "2", "3", "4", "5"}:
                raise _Refused(
                    f"{part!r}: the number after # must be 1 to 5, the week of the month"
                )
            nth.add((_number(name, _WEEKDAY) % WEEK, int(which)))
        elif part.startswith("l"):
            last.add(_number(part[1:], _WEEKDAY) % WEEK)
        else:
            every.update(n % WEEK for n in _span(part, _WEEKDAY))
    return Weekdays(
        every=frozenset(every), nth=frozenset(nth), last=frozenset(last), is_any=text == "*"
    )


def _numbers(text: str, field: _Field) -> set[int]:
    return {number for part in text.split(",") for number in _span(part, field)}


def _span(part: str, field: _Field) -> range:
    span, slash, step = part.partition("/")
    first, dash, last = span.partition("-")
    if span == "*":
        low, high = field.low, field.top
    else:
        low = _number(first, field)
        high = _end(last, low, field) if dash else (max(low, field.top) if slash else low)
    if low > high:
        raise _Refused(f"{span!r} runs backwards in the field for the {field.name}: split it")
    stride = _number(step, _Field(name="step", low=1, high=field.high, names={})) if slash else 1
    return range(low, high + 1, stride)


def _end(text: str, low: int, field: _Field) -> int:
    """Return the end of a range; a week may end with Sunday."""
    high = _number(text, field)
    return WEEK if field is _WEEKDAY and high == 0 and low > 0 else high


def _number(text: str, field: _Field) -> int:
    if text in field.names:
        return field.names[text]
    if not re.fullmatch("[0-9]{1,4}", text) or not field.low <= int(text) <= field.high:
        names = f", or a name such as {next(iter(field.names))}" if field.names else ""
        raise _Refused(
            f"{text!r} is not a valid {field.name}: use a number from {field.low} to"
            f" {field.high}{names}"
        )
    return int(text)
