"""Reads what a list is asked for, and tells a page with a cursor that cannot be bent."""

from base64 import b64decode, urlsafe_b64encode
from bisect import bisect_right
from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from itertools import accumulate
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Raw, Struct

from functions.gateway.presenter import moment, task_as_json
from functions.gateway.problem import Problem, bad_request, unprocessable
from taskmill.domain.listing import After, Page, TaskFilter
from taskmill.domain.task import DEFAULT_TENANT, Millis, Status, TaskId, TaskType

LARGEST_PAGE = 200
USUAL_PAGE = 50
PAGE_BYTES = 2_000_000
"""The platform carries 6 MB, and its own escapes may make three bytes of one."""
_KNOWN = {"type", "status", "created_after", "created_before", "limit", "cursor"}
_METADATA = "metadata."


class _Cursor(Struct, array_like=True, frozen=True):
    created_at_ms: Annotated[int, Meta(ge=0, le=253_402_300_799_999)]  # until the year 9999
    id: Annotated[str, Meta(pattern="^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]
    filter: str
    seal: str


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
    for name in given:
        if name not in _KNOWN and not name.startswith(_METADATA):
            raise _Wrong(unprocessable("invalid_request", f"there is no parameter {name!r}", name))
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
    text = given.get(name)
    if text is None:
        return None
    try:
        at = datetime.fromisoformat(text)
        at_ms = round(at.timestamp() * 1000) if at.tzinfo else None
    except (ValueError, OverflowError):
        at_ms = None
    if at_ms is None:
        detail = f"{name} is a time with its zone, such as 2026-01-31T12:00:00Z; not {text!r}"
        raise _Wrong(unprocessable("invalid_request", detail, name))
    return Millis(at_ms)


def _limit(text: str | None) -> int:
    if text is None:
        return USUAL_PAGE
    if not (text.isascii() and text.isdecimal() and text.strip("0")):
        detail = f"limit is a whole number from 1 to {LARGEST_PAGE}"
        raise _Wrong(unprocessable("invalid_request", detail, "limit"))
    return min(int(text.lstrip("0")[:9]), LARGEST_PAGE)


def page_as_json(page: Page, given: Mapping[str, str]) -> dict[str, Any]:
    """Return *page*, cut where it would not fit an answer: the cursor then leads to the rest."""
    tasks = [Raw(msgspec.json.encode(task_as_json(task))) for task in page.tasks]
    ends = list(accumulate(len(bytes(task)) for task in tasks))
    fitting = max(bisect_right(ends, PAGE_BYTES), 1)
    behind = page.next
    if fitting < len(tasks):
        last = page.tasks[fitting - 1]
        behind = After(last.about.created_at_ms, last.id)
    return {
        "tasks": tasks[:fitting],
        "next_cursor": cursor_behind(behind, given) if behind else None,
        "as_of": moment(page.as_of_ms) if page.as_of_ms is not None else None,
    }


def cursor_behind(after: After, given: Mapping[str, str]) -> str:
    """Return the word that asks for the page behind *after*, for the same filter."""
    return _word(after.created_at_ms, after.id, _digest(given))


def _word(created_at_ms: int, task_id: str, digest: str) -> str:
    seal = sha256(f"cursor {created_at_ms} {task_id} {digest}".encode()).hexdigest()[:16]
    cursor = _Cursor(created_at_ms, task_id, digest, seal)
    return urlsafe_b64encode(msgspec.json.encode(cursor)).decode()


def _after(given: Mapping[str, str]) -> After | None:
    text = given.get("cursor")
    if text is None:
        return None
    try:
        cursor = msgspec.json.decode(b64decode(text, b"-_", validate=True), type=_Cursor)
    except (ValueError, RecursionError):
        raise _Wrong(bad_request("the cursor is not one of ours: start without it")) from None
    if text != _word(cursor.created_at_ms, cursor.id, cursor.filter):
        raise _Wrong(bad_request("the cursor was changed: start without it"))
    if cursor.filter != _digest(given):
        raise _Wrong(bad_request("the cursor belongs to another filter: start without it"))
    return After(Millis(cursor.created_at_ms), TaskId(cursor.id))


def _digest(given: Mapping[str, str]) -> str:
    asked = {name: value for name, value in given.items() if name not in {"cursor", "limit"}}
    return sha256(msgspec.json.encode(asked, order="deterministic")).hexdigest()[:16]
