"""Lists enqueued requests that have not become tasks, and marks them as dealt with."""

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from functions.gateway.http.auth import caller
from functions.gateway.http.paging import Line, Mark, mark_of, page_of
from functions.gateway.http.parameters import read_limit
from functions.gateway.http.problem import Problem, bad_request, missing, unprocessable
from functions.gateway.http.routes import ApiRequest, Routes, Success
from functions.gateway.presenter import moment
from functions.gateway.reading import id_of
from taskmill.core.refusal import Dismissal
from taskmill.submission.enqueued import Enqueued

routes = Routes("enqueued requests are in the ledger")

_STATES = ("waiting", "parked", "discarded")
_NUMBER = re.compile(r"[0-9]{1,18}")


@routes.get("/v1/enqueued", parameters={"state", "limit", "cursor"})
def list_enqueued(request: ApiRequest) -> Success | Problem:
    query = request.query
    state = query.get("state", "parked")
    if state not in _STATES:
        detail = f"state must be one of {', '.join(_STATES)}"
        return unprocessable("invalid_request", detail, "state")
    limit, before = read_limit(query.get("limit")), _before(query)
    if isinstance(limit, Problem):
        return limit
    if isinstance(before, Problem):
        return before
    rows = request.stores.requests.page(
        is_parked=state != "waiting",
        is_discarded=state == "discarded",
        before=before,
        most=limit + 1,
    )
    lines = [Line(_view(row), _mark(row)) for row in rows[:limit]]
    rest = lines[-1].mark if len(rows) > limit else None
    requests, cursor = page_of(lines, rest=rest, query=query)
    return Success(HTTPStatus.OK, {"requests": requests, "next_cursor": cursor})


@routes.post("/v1/enqueued/<task_id>/discard")
def discard_enqueued(request: ApiRequest, task_id: str) -> Success | Problem:
    identity = id_of(task_id)
    if isinstance(identity, Problem):
        return identity
    discard = Dismissal(at_ms=request.stores.clock(), by=caller(request))
    row = request.stores.requests.discard(identity, discard)
    if row is None:
        return missing(f"no refused request has the task id {identity}")
    return Success(HTTPStatus.OK, _view(row))


def _mark(row: Enqueued) -> Mark:
    return Mark(row.created_at_ms, str(row.number))


def _before(query: Mapping[str, str]) -> int | Problem | None:
    if "cursor" not in query:
        return None
    mark = mark_of(query["cursor"], query)
    if isinstance(mark, Problem):
        return mark
    if not _NUMBER.fullmatch(mark.name):
        return bad_request("the cursor is invalid: start without it")
    return int(mark.name)


def _view(row: Enqueued) -> dict[str, Any]:
    view: dict[str, Any] = {
        "task_id": row.task_id,
        "tenant": row.tenant,
        "enqueued_at": moment(row.created_at_ms),
        "size": row.octets,
    }
    if row.parked is not None:
        view["parked_at"] = moment(row.parked.at_ms)
        view["reason"] = row.parked.reason
        view["detail"] = row.parked.detail
        if row.parked.pointer is not None:
            view["field"] = row.parked.pointer
    if row.discarded is not None:
        view["discarded_at"] = moment(row.discarded.at_ms)
        view["discarded_by"] = row.discarded.by
    return view
