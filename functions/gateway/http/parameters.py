"""Parses query parameters (limits, numbers, times and waits), and refuses unknown ones."""

import re
from collections.abc import Container, Iterable
from datetime import UTC, datetime, timedelta

from functions.gateway.http.problem import Problem, unprocessable
from taskmill.core.task import Millis

LARGEST_PAGE = 200
USUAL_PAGE = 50
LONGEST_WAIT_SECONDS = 25.0
_SECONDS = re.compile(r"[0-9]{1,3}(\.[0-9]{1,20})?")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_NO_TIME = timedelta()


def unknown_parameter(names: Iterable[str], known: Container[str]) -> Problem | None:
    """Refuse the first parameter that the route does not know."""
    for name in names:
        if name not in known:
            return unprocessable("invalid_request", f"unknown parameter {name!r}", name)
    return None


def read_wait(text: str | None, *, usual: timedelta = _NO_TIME) -> timedelta | Problem:
    if text is None:
        return usual
    if not _SECONDS.fullmatch(text) or float(text) > LONGEST_WAIT_SECONDS:
        detail = f"wait must be a number of seconds from 0 to {LONGEST_WAIT_SECONDS:g}"
        return unprocessable("invalid_request", detail, "wait")
    return timedelta(seconds=float(text))


def read_limit(text: str | None) -> int | Problem:
    if text is None:
        return USUAL_PAGE
    return read_number("limit", text, most=LARGEST_PAGE)


def read_number(name: str, text: str, *, most: int) -> int | Problem:
    is_whole = text.isascii() and text.isdecimal()
    number = int(text.lstrip("0")[:9] or "0") if is_whole else 0
    if not 1 <= number <= most:
        detail = f"{name} must be a whole number from 1 to {most}"
        return unprocessable("invalid_request", detail, name)
    return number


def read_moment(name: str, text: str | None) -> Millis | Problem | None:
    if text is None:
        return None
    try:
        at = datetime.fromisoformat(text)
        at_ms = (_in_utc(at) - _EPOCH) // _MILLISECOND if at.tzinfo else None
    except ValueError:
        at_ms = None
    if at_ms is None:
        detail = f"{name} must be a time with a zone, such as 2026-01-31T12:00:00Z; not {text!r}"
        return unprocessable("invalid_request", detail, name)
    return Millis(at_ms)


def _in_utc(at: datetime) -> datetime:
    try:
        return at.astimezone(UTC)
    except OverflowError:  # within a day of either end of the calendar
        return at.replace(tzinfo=UTC)
