"""Returns one task, immediately or once it has ended, with its payload on request."""

import re
from collections.abc import Callable
from datetime import timedelta
from http import HTTPStatus
from typing import Any, assert_never

from msgspec import Raw

from functions.gateway.http.parameters import read_wait
from functions.gateway.http.problem import Problem, not_found, refused, unavailable, unprocessable
from functions.gateway.http.read_your_writes import caught_up
from functions.gateway.http.routes import ApiRequest, Routes, Success
from functions.gateway.payloads import downloadable_payload, downloadable_result
from functions.gateway.presenter import task_as_json
from taskmill.core.task import TaskId
from taskmill.core.time import in_ms
from taskmill.core.view import Finding, Nowhere, TaskView, Unsure
from taskmill.ledger.await_ledger import LONGEST_CATCH_UP
from taskmill.ledger.find import TaskFinder
from taskmill.stores.stores import Stores
from taskmill.submission.take_enqueued import look_at_request

_FIRST_LOOK = timedelta(milliseconds=20)
_RAREST_LOOK = timedelta(milliseconds=200)
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[78][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


routes = Routes("the payload is in the ledger")


@routes.get("/v1/tasks/<task_id>", parameters={"include", "wait"})
def read_task(request: ApiRequest, task_id: str) -> Success | Problem:
    include, stores = request.query.get("include"), request.stores
    if include not in {None, "payload"}:
        detail = f"include must be 'payload', not {include!r}"
        return unprocessable("invalid_request", detail, "include")
    span = read_wait(request.query.get("wait"))
    if isinstance(span, Problem):
        return span
    identity = id_of(task_id)
    if isinstance(identity, Problem):
        return identity
    end_ms = stores.clock() + in_ms(span)
    finding = _find_ended(stores, identity, end_ms)
    if not isinstance(finding, TaskView):
        return unread(identity, finding)
    if include is None:
        return Success(HTTPStatus.OK, _whole(stores, finding))
    return _with_payload(stores, finding, end_ms)


def _whole(stores: Stores, task: TaskView) -> dict[str, Any]:
    """Return a task, with a link to a result that is too large to include."""
    view = task_as_json(task)
    if task.ending and task.ending.result_ref:
        pointer = task.ending.result_ref
        view["result_ref"] = downloadable_result(stores, pointer, task.spec.type)
    return view


def _with_payload(stores: Stores, task: TaskView, end_ms: int) -> Success | Problem:
    spec = task.spec
    if spec.payload_ref is not None:
        pointer = downloadable_payload(stores, spec.payload_ref, spec.type, spec.tenant)
        return Success(HTTPStatus.OK, _whole(stores, task) | {"payload_ref": pointer})
    payload = caught_up(
        stores,
        lambda: stores.ledger_rows.payload(task.id, task.generation),
        lambda text: text is None,
        within=max(timedelta(milliseconds=end_ms - stores.clock()), LONGEST_CATCH_UP),
    )
    if payload is None:
        return unavailable("the ledger does not have the payload yet", 1)
    return Success(HTTPStatus.OK, _whole(stores, task) | {"payload": Raw(payload)})


def id_of(text: str) -> TaskId | Problem:
    return TaskId(text) if _ID.fullmatch(text) else not_found(text)


def _find_ended(stores: Stores, task_id: TaskId, end_ms: int) -> Finding:
    """Poll until the task has ended or the time is over; only some requests may wait at once.

    A task accepted without Redis cannot be read for some seconds; a waiting request covers that
    too.
    """
    find = finder(stores)
    finding = find(task_id)
    if stores.clock() >= end_ms or not _is_awaited(finding):
        return finding
    with stores.waiters.place() as has_place:
        rest = _FIRST_LOOK
        while has_place and _is_awaited(finding) and stores.clock() < end_ms:
            stores.pause(rest)
            rest = min(rest * 1.5, _RAREST_LOOK)
            finding = find(task_id)
    return finding


def _is_awaited(finding: Finding) -> bool:
    match finding:
        case TaskView(status=status):
            return not status.is_final
        case Unsure(is_away=is_away):
            return not is_away
        case Nowhere():
            return False
        case _:
            assert_never(finding)


def finder(stores: Stores) -> Callable[[TaskId], Finding]:
    """Return a function that finds a task, even one that exists only as an enqueued request."""

    def enqueued(task_id: TaskId) -> TaskView | Nowhere | None:
        return look_at_request(task_id, stores.requests, stores.catalogue)

    return TaskFinder(stores, enqueued).find


def unread(task_id: TaskId, finding: Nowhere | Unsure) -> Problem:
    match finding:
        case Nowhere(why):
            return not_found(task_id) if why is None else refused(why)
        case Unsure(why):
            return unavailable(f"the task cannot be read now: {why}", 1)
        case _:
            assert_never(finding)
