"""Reads list parameters and returns pages with cursors."""

import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from functions.gateway.http.paging import Line, Mark, mark_of, page_of
from functions.gateway.http.parameters import read_limit, read_moment, read_wait, unknown_parameter
from functions.gateway.http.problem import Problem, bad_request, unprocessable
from functions.gateway.http.read_your_writes import NO_TIME, hear_the_log, since_heard
from functions.gateway.http.routes import ApiRequest, Routes, Success
from functions.gateway.looking_up import KEY, look_up
from functions.gateway.presenter import listed_as_json, moment
from taskmill.core.task import DEFAULT_TENANT, Millis, Status, TaskId, TaskType
from taskmill.ledger.await_ledger import LONGEST_CATCH_UP
from taskmill.ledger.listing import After, DeadLetter, DeadPage, Page, TaskFilter

_KNOWN = {"type", "status", "created_after", "created_before", "limit", "cursor", "wait"}
_OF_THE_DEAD = {"reason", "error_class", "dead_after", "dead_before"}
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_METADATA = "metadata."


routes = Routes("lists come from the ledger")


class _Wrong(Exception):
    """A parameter has an invalid value."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


@routes.get("/v1/tasks")
def list_tasks(request: ApiRequest) -> Success | Problem:
    query = request.query
    if KEY in query:
        return look_up(request)
    selection = read_filter(query)
    if isinstance(selection, Problem):
        return selection
    span = read_wait(query.get("wait"), usual=LONGEST_CATCH_UP)
    if isinstance(span, Problem):
        return span
    heard_ms = hear_the_log(request.stores, span if selection.after is None else NO_TIME)
    return Success(HTTPStatus.OK, _list(request, selection) | since_heard(heard_ms))


def _list(request: ApiRequest, selection: TaskFilter) -> dict[str, Any]:
    rows = request.stores.ledger_rows
    if selection.status is Status.DEAD:
        return dead_as_json(rows.dead(selection), request.query)
    return page_as_json(rows.page(selection), request.query)


def read_filter(query: Mapping[str, str]) -> TaskFilter | Problem:
    try:
        return _filter(query)
    except _Wrong as wrong:
        return wrong.problem


def _filter(query: Mapping[str, str]) -> TaskFilter:
    unknown = unknown_parameter(
        (name for name in query if not name.startswith(_METADATA)), _KNOWN | _OF_THE_DEAD
    )
    if unknown is not None:
        raise _Wrong(unknown)
    for name in query:
        if name in _OF_THE_DEAD and query.get("status") != Status.DEAD:
            detail = f"{name} requires status=dead"
            raise _Wrong(unprocessable("invalid_request", detail, name))
        if name == _METADATA:
            detail = "name the metadata entry: metadata.<name>=<value>"
            raise _Wrong(unprocessable("invalid_request", detail, name))
        if "\x00" in name + query[name]:
            detail = f"the parameter {name!r} contains a NUL character, which no task has"
            raise _Wrong(unprocessable("invalid_request", detail, name))
    return TaskFilter(
        tenant=DEFAULT_TENANT,
        type=TaskType(query["type"]) if "type" in query else None,
        status=_status(query.get("status")),
        metadata=_metadata(query),
        created_after_ms=_moment("created_after", query),
        created_before_ms=_moment("created_before", query),
        after=_after(query),
        limit=_limit(query.get("limit")),
        reason=query.get("reason"),
        error_class=query.get("error_class"),
        dead_after_ms=_moment("dead_after", query),
        dead_before_ms=_moment("dead_before", query),
    )


def _status(text: str | None) -> Status | None:
    if text is None:
        return None
    try:
        return Status(text)
    except ValueError:
        statuses = ", ".join(Status)
        detail = f"there is no status {text!r}; the statuses are: {statuses}"
        raise _Wrong(unprocessable("invalid_request", detail, "status")) from None


def _metadata(query: Mapping[str, str]) -> dict[str, str]:
    return {
        name.removeprefix(_METADATA): value
        for name, value in query.items()
        if name.startswith(_METADATA)
    }


def _moment(name: str, query: Mapping[str, str]) -> Millis | None:
    at_ms = read_moment(name, query.get(name))
    if isinstance(at_ms, Problem):
        raise _Wrong(at_ms)
    return at_ms


def _limit(text: str | None) -> int:
    limit = read_limit(text)
    if isinstance(limit, Problem):
        raise _Wrong(limit)
    return limit


def page_as_json(page: Page, query: Mapping[str, str]) -> dict[str, Any]:
    """Return *page*, shortened if it would not fit in a response; its cursor leads to the rest."""
    lines = [
        Line(listed_as_json(task), Mark(task.spec.created_at_ms, task.id)) for task in page.tasks
    ]
    return _page(lines, page, query)


def dead_as_json(page: DeadPage, query: Mapping[str, str]) -> dict[str, Any]:
    """Return dead tasks with the time of their death."""
    lines = [_dead_line(letter) for letter in page.letters]
    return _page(lines, page, query)


def _dead_line(letter: DeadLetter) -> Line:
    task = letter.task
    view = listed_as_json(task, with_stack=True)
    failures = {
        "first_failed_at": moment(letter.first_failed_at_ms),
        "last_failed_at": view["finished_at"],
    }
    died_at_ms = task.ending.finished_at_ms if task.ending else Millis(0)
    return Line(view | failures, Mark(died_at_ms, task.id))


def _page(lines: Sequence[Line], page: Page | DeadPage, query: Mapping[str, str]) -> dict[str, Any]:
    tasks, cursor = page_of(lines, rest=_mark(page.next), query=query)
    as_of = None if page.as_of_ms is None else moment(page.as_of_ms)
    return {"tasks": tasks, "next_cursor": cursor, "as_of": as_of}


def _mark(after: After | None) -> Mark | None:
    return Mark(after.at_ms, after.id) if after else None


def _after(query: Mapping[str, str]) -> After | None:
    text = query.get("cursor")
    if text is None:
        return None
    mark = mark_of(text, query)
    if isinstance(mark, Problem):
        raise _Wrong(mark)
    if not _ID.fullmatch(mark.name):
        raise _Wrong(bad_request("the cursor is invalid: start without it"))
    return After(mark.at_ms, TaskId(mark.name))
