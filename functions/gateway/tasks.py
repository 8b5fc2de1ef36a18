"""Tasks over HTTP: submitted, shown and listed."""

from collections.abc import Mapping
from datetime import timedelta
from http import HTTPStatus
from typing import Any

from msgspec import Raw

from functions.gateway.history import read_history
from functions.gateway.http.answer import Answer, Told, json_body, new_router, tell
from functions.gateway.http.catching_up import NO_TIME, caught_up, hear_the_log, since_heard
from functions.gateway.http.problem import Problem, unavailable, unknown_parameter, unprocessable
from functions.gateway.listing import dead_as_json, page_as_json, read_filter
from functions.gateway.looking_up import KEY, look_up
from functions.gateway.payloads import downloadable_payload, downloadable_result
from functions.gateway.presenter import task_as_json
from functions.gateway.reading import read_task, read_wait
from functions.gateway.stores import stores
from functions.gateway.submitting import submit_batch, submit_one
from taskmill.core.errors import StoreUnavailable
from taskmill.core.task import Status
from taskmill.core.time import in_ms
from taskmill.core.view import TaskView
from taskmill.ledger.await_ledger import LONGEST_CATCH_UP
from taskmill.ledger.listing import TaskFilter
from taskmill.platform import process

router = new_router()


@router.post("/v1/tasks")
def post_task() -> Answer:
    body = json_body(router.current_event)
    if isinstance(body, Problem):
        return tell(body)
    return tell(submit_one(body, router.current_event.headers.get("idempotency-key")))


@router.post("/v1/tasks/batch")
def post_batch() -> Answer:
    event = router.current_event
    if "idempotency-key" in event.headers:
        # Not heeded, it would let a client believe that a repetition makes no second tasks.
        detail = "a batch has no key of its own: give each of its tasks an idempotency_key"
        return tell(unprocessable("invalid_request", detail, "/tasks"))
    body = json_body(event)
    return tell(body if isinstance(body, Problem) else submit_batch(body))


@router.get("/v1/tasks/<task_id>")
def get_task(task_id: str) -> Answer:
    asked = router.current_event.query_string_parameters
    unknown = unknown_parameter(asked, {"include", "wait"})
    if unknown is not None:
        return tell(unknown)
    include = asked.get("include")
    if include not in {None, "payload"}:
        detail = f"include knows 'payload', not {include!r}"
        return tell(unprocessable("invalid_request", detail, "include"))
    span = read_wait(asked.get("wait"))
    if isinstance(span, Problem):
        return tell(span)
    end_ms = process.clock() + in_ms(span)
    found = read_task(task_id, span)
    if isinstance(found, Problem):
        return tell(found)
    if include is None:
        return tell(Told(HTTPStatus.OK, _whole(found)))
    return tell(_with_payload(found, within=timedelta(milliseconds=end_ms - process.clock())))


def _whole(task: TaskView) -> dict[str, Any]:
    """Return a task with a link to what is too large to be told."""
    shown = task_as_json(task)
    if task.ending and task.ending.result_ref:
        shown["result_ref"] = downloadable_result(task.ending.result_ref, task.spec.type)
    return shown


def _with_payload(task: TaskView, *, within: timedelta) -> Told | Problem:
    if (pointer := task.spec.payload_ref) is not None:
        linked = downloadable_payload(pointer, task.spec.type, task.spec.tenant)
        return Told(HTTPStatus.OK, _whole(task) | {"payload_ref": linked})
    try:
        payload = caught_up(
            lambda: stores().ledger_rows.payload(task.id, task.generation),
            lambda found: found is None,
            within=max(within, LONGEST_CATCH_UP),
        )
    except StoreUnavailable as error:
        return unavailable(f"the payload comes from the ledger: {error.store} is away", 2)
    if payload is None:
        return unavailable("the ledger does not have the payload yet", 1)
    return Told(HTTPStatus.OK, _whole(task) | {"payload": Raw(payload)})


@router.get("/v1/tasks/<task_id>/history")
def get_history(task_id: str) -> Answer:
    return tell(read_history(task_id))


@router.get("/v1/tasks")
def get_tasks() -> Answer:
    asked = router.current_event.query_string_parameters
    if KEY in asked:
        return tell(look_up(asked))
    wanted = read_filter(asked)
    if isinstance(wanted, Problem):
        return tell(wanted)
    span = read_wait(asked.get("wait"), usual=LONGEST_CATCH_UP)
    if isinstance(span, Problem):
        return tell(span)
    try:
        heard_ms = hear_the_log(span if wanted.after is None else NO_TIME)
        page = _page(wanted, asked)
        return tell(Told(HTTPStatus.OK, page | since_heard(heard_ms)))
    except StoreUnavailable as error:
        return tell(unavailable(f"lists come from the ledger: {error.store} is away", 2))


def _page(wanted: TaskFilter, asked: Mapping[str, str]) -> dict[str, Any]:
    rows = stores().ledger_rows
    if wanted.status is Status.DEAD:
        return dead_as_json(rows.dead(wanted), asked)
    return page_as_json(rows.page(wanted), asked)
