"""Enqueued requests that are no tasks, over HTTP: shown, and marked as dealt with."""

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from functions.gateway.http.answer import Answer, Told, new_router, tell
from functions.gateway.http.auth import caller
from functions.gateway.http.cursor import Mark, cursor_behind, mark_of
from functions.gateway.http.page import Line, fitting
from functions.gateway.http.problem import (
    Problem,
    bad_request,
    missing,
    unavailable,
    unknown_parameter,
    unprocessable,
)
from functions.gateway.listing import read_limit
from functions.gateway.presenter import moment
from functions.gateway.reading import id_of
from functions.gateway.stores import stores
from taskmill.core.errors import StoreUnavailable
from taskmill.core.refusal import Dismissal
from taskmill.platform import process
from taskmill.submission.enqueued import Enqueued

router = new_router()


@router.get("/v1/enqueued")
def get_enqueued() -> Answer:
    try:
        return tell(list_enqueued(router.current_event.query_string_parameters))
    except StoreUnavailable as error:
        return _away(error)


@router.post("/v1/enqueued/<task_id>/discard")
def post_discard_enqueued(task_id: str) -> Answer:
    try:
        return tell(discard_enqueued(task_id, caller(router.current_event, stores().api_keys)))
    except StoreUnavailable as error:
        return _away(error)


def _away(error: StoreUnavailable) -> Answer:
    return tell(unavailable(f"what was enqueued is in the ledger: {error.store} is away", 2))


_KNOWN = {"state", "limit", "cursor"}
_STATES = ("waiting", "parked", "discarded")
_NUMBER = re.compile(r"[0-9]{1,18}")


def list_enqueued(given: Mapping[str, str]) -> Told | Problem:
    unknown = unknown_parameter(given, _KNOWN)
    if unknown is not None:
        return unknown
    if given.get("state", "parked") not in _STATES:
        detail = f"state is one of {', '.join(_STATES)}"
        return unprocessable("invalid_request", detail, "state")
    limit, before = read_limit(given.get("limit")), _before(given)
    if isinstance(limit, Problem):
        return limit
    if isinstance(before, Problem):
        return before
    state = given.get("state", "parked")
    rows = stores().requests.page(
        is_parked=state != "waiting",
        is_discarded=state == "discarded",
        before=before,
        most=limit + 1,
    )
    lines = [Line(_shown(row), _mark(row)) for row in rows[:limit]]
    behind = lines[-1].mark if len(rows) > limit else None
    told, mark = fitting(lines, behind=behind)
    cursor = cursor_behind(mark, given) if mark else None
    return Told(HTTPStatus.OK, {"requests": told, "next_cursor": cursor})


def discard_enqueued(given_id: str, by: str) -> Told | Problem:
    task_id = id_of(given_id)
    if isinstance(task_id, Problem):
        return task_id
    row = stores().requests.discard(task_id, Dismissal(at_ms=process.clock(), by=by))
    if row is None:
        return missing(f"no refused request has the task id {task_id}")
    return Told(HTTPStatus.OK, _shown(row))


def _mark(row: Enqueued) -> Mark:
    return Mark(row.created_at_ms, str(row.number))


def _before(given: Mapping[str, str]) -> int | Problem | None:
    if "cursor" not in given:
        return None
    mark = mark_of(given["cursor"], given)
    if isinstance(mark, Problem):
        return mark
    if not _NUMBER.fullmatch(mark.name):
        return bad_request("the cursor is invalid: start without it")
    return int(mark.name)


def _shown(row: Enqueued) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "task_id": row.task_id,
        "tenant": row.tenant,
        "enqueued_at": moment(row.created_at_ms),
        "size": row.octets,
    }
    if row.parked is not None:
        shown["parked_at"] = moment(row.parked.at_ms)
        shown["reason"] = row.parked.reason
        shown["detail"] = row.parked.detail
        if row.parked.pointer is not None:
            shown["field"] = row.parked.pointer
    if row.discarded is not None:
        shown["discarded_at"] = moment(row.discarded.at_ms)
        shown["discarded_by"] = row.discarded.by
    return shown
