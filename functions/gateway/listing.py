"""Reads list parameters and returns pages with cursors."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import Raw

from functions.gateway.http.cursor import Mark, cursor_behind, mark_of
from functions.gateway.http.page import Line, fitting
from functions.gateway.http.problem import Problem, bad_request, unknown_parameter, unprocessable
from functions.gateway.presenter import listed_as_json, moment
from taskmill.core.task import DEFAULT_TENANT, Millis, Status, TaskId, TaskType
from taskmill.ledger.listing import After, DeadLetter, DeadPage, Page, TaskFilter

LARGEST_PAGE = 200
USUAL_PAGE = 50
_KNOWN = {"type", "status", "created_after", "created_before", "limit", "cursor", "wait"}
_OF_THE_DEAD = {"reason", "error_class", "dead_after", "dead_before"}
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_METADATA = "metadata."
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


class _Wrong(Exception):
    """A parameter is not what it must be."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


def read_filter(given: Mapping[str, str]) -> TaskFilter | Problem:
    try:
        return _filter(given)
    except _Wrong as wrong:
        return wrong.problem


def _filter(given: Mapping[str, str]) -> TaskFilter:
    unknown = unknown_parameter(
        (name for name in given if not name.startswith(_METADATA)), _KNOWN | _OF_THE_DEAD
    )
    if unknown is not None:
        raise _Wrong(unknown)
    for name in given:
        if name in _OF_THE_DEAD and given.get("status") != Status.DEAD:
            detail = f"{name} goes with status=dead"
            raise _Wrong(unprocessable("invalid_request", detail, name))
        if name == _METADATA:
            detail = "name the entry: metadata.<name>=<value>"
            raise _Wrong(unprocessable("invalid_request", detail, name))
        if "\x00" in name + given[name]:
            detail = f"the parameter {name!r} holds a NUL character: no task has one"
            raise _Wrong(unprocessable("invalid_request", detail, name))
    return TaskFilter(
        tenant=DEFAULT_TENANT,
        type=TaskType(given["type"]) if "type" in given else None,
        status=_status(given.get("status")),
        metadata=_metadata(given),
        created_after_ms=_moment("created_after", given),
        created_before_ms=_moment("created_before", given),
        after=_after(given),
        limit=_limit(given.get("limit")),
        reason=given.get("reason"),
        error_class=given.get("error_class"),
        dead_after_ms=_moment("dead_after", given),
        dead_before_ms=_moment("dead_before", given),
    )


def _status(text: str | None) -> Status | None:
    if text is None:
        return None
    try:
        return Status(text)
    except ValueError:
        known = ", ".join(Status)
        detail = f"there is no status {text!r}; the statuses are: {known}"
        raise _Wrong(unprocessable("invalid_request", detail, "status")) from None


def _metadata(given: Mapping[str, str]) -> dict[str, str]:
    return {
        name.removeprefix(_METADATA): value
        for name, value in given.items()
        if name.startswith(_METADATA)
    }


def _moment(name: str, given: Mapping[str, str]) -> Millis | None:
    at_ms = read_moment(name, given.get(name))
    if isinstance(at_ms, Problem):
        raise _Wrong(at_ms)
    return at_ms


def read_moment(name: str, text: str | None) -> Millis | Problem | None:
    if text is None:
        return None
    try:
        at = datetime.fromisoformat(text)
        at_ms = (_in_utc(at) - _EPOCH) // _MILLISECOND if at.tzinfo else None
    except ValueError:
        at_ms = None
    if at_ms is None:
        detail = f"{name} is a time with its zone, such as 2026-01-31T12:00:00Z; not {text!r}"
        return unprocessable("invalid_request", detail, name)
    return Millis(at_ms)


def _in_utc(at: datetime) -> datetime:
    try:
        return at.astimezone(UTC)
    except OverflowError:  # within a day of the calendar's end, where nothing ever happens
        return at.replace(tzinfo=UTC)


def _limit(text: str | None) -> int:
    limit = read_limit(text)
    if isinstance(limit, Problem):
        raise _Wrong(limit)
    return limit


def read_limit(text: str | None) -> int | Problem:
    if text is None:
        return USUAL_PAGE
    return read_number("limit", text, most=LARGEST_PAGE)


def read_number(name: str, text: str, *, most: int) -> int | Problem:
    is_whole = text.isascii() and text.isdecimal()
    number = int(text.lstrip("0")[:9] or "0") if is_whole else 0
    if not 1 <= number <= most:
        detail = f"{name} is a whole number from 1 to {most}"
        return unprocessable("invalid_request", detail, name)
    return number


def page_as_json(page: Page, given: Mapping[str, str]) -> dict[str, Any]:
    """Return *page*, cut where it would not fit an answer: the cursor then leads to the rest."""
    lines = [
        Line(listed_as_json(task), Mark(task.spec.created_at_ms, task.id)) for task in page.tasks
    ]
    told, mark = fitting(lines, behind=_mark(page.next))
    return _page(told, mark, page.as_of_ms, given)


def dead_as_json(page: DeadPage, given: Mapping[str, str]) -> dict[str, Any]:
    """Return the dead as tasks that also say when they failed."""
    lines = [_dead_line(letter) for letter in page.letters]
    told, mark = fitting(lines, behind=_mark(page.next))
    return _page(told, mark, page.as_of_ms, given)


def _dead_line(letter: DeadLetter) -> Line:
    task = letter.task
    shown = listed_as_json(task, with_stack=True)
    failed = {
        "first_failed_at": moment(letter.first_failed_at_ms),
        "last_failed_at": shown["finished_at"],
    }
    died_at_ms = task.ending.finished_at_ms if task.ending else Millis(0)
    return Line(shown | failed, Mark(died_at_ms, task.id))


def _page(
    told: list[Raw], mark: Mark | None, as_of_ms: Millis | None, given: Mapping[str, str]
) -> dict[str, Any]:
    return {
        "tasks": told,
        "next_cursor": cursor_behind(mark, given) if mark else None,
        "as_of": moment(as_of_ms) if as_of_ms is not None else None,
    }


def _mark(after: After | None) -> Mark | None:
    return Mark(after.at_ms, after.id) if after else None


def _after(given: Mapping[str, str]) -> After | None:
    text = given.get("cursor")
    if text is None:
        return None
    mark = mark_of(text, given)
    if isinstance(mark, Problem):
        raise _Wrong(mark)
    if not _ID.fullmatch(mark.name):
        raise _Wrong(bad_request("the cursor is invalid: start without it"))
    return After(mark.at_ms, TaskId(mark.name))
