"""Cancels, changes and redrives a task over HTTP."""

from http import HTTPStatus
from typing import Any, assert_never

import msgspec
from msgspec import UNSET, Struct, UnsetType

from functions.gateway.http.problem import Problem, conflict, problem_of, unprocessable
from functions.gateway.http.read_your_writes import caught_up
from functions.gateway.http.routes import ApiRequest, Routes, Success
from functions.gateway.presenter import moment, task_as_json
from functions.gateway.reading import finder, id_of, unread
from taskmill.core.refusal import Refusal, invalid
from taskmill.core.task import PRIORITIES, Millis
from taskmill.core.view import Nowhere, Unsure
from taskmill.orders.cancel import AlreadyFinished, Asked, CancelAccepted, Canceller
from taskmill.orders.change import (
    ChangeAccepted,
    Changer,
    NotWaiting,
    PayloadGone,
    TooLate,
    WantedChange,
)
from taskmill.orders.redrive import Again, NotOver, Redrive, Redriver, RedriveRequest
from taskmill.submission.read import metadata_refusal, misfit, read_begin, read_value
from taskmill.submission.request import DelaySeconds, Metadata, PriorityRequest, RunAt

routes = Routes()


@routes.post("/v1/tasks/<task_id>/cancel")
def cancel_one(request: ApiRequest, task_id: str) -> Success | Problem:
    identity = id_of(task_id)
    if isinstance(identity, Problem):
        return identity
    outcome = Canceller(request.stores, finder(request.stores)).cancel(identity)
    match outcome:
        case CancelAccepted(task):
            return Success(HTTPStatus.OK, task_as_json(task))
        case Asked(task):
            return Success(HTTPStatus.ACCEPTED, task_as_json(task), f"/v1/tasks/{task.id}")
        case AlreadyFinished(task):
            detail = f"the task has already ended: it is {task.status}"
            return conflict("already_finished", detail)
        case Nowhere() | Unsure():
            return unread(identity, outcome)
        case _:
            assert_never(outcome)


class ChangeRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Fields that are left out stay unchanged."""

    delay_seconds: DelaySeconds | UnsetType = UNSET
    run_at: RunAt | UnsetType = UNSET
    metadata: Metadata | UnsetType = UNSET
    priority: PriorityRequest | UnsetType = UNSET


@routes.patch("/v1/tasks/<task_id>")
def change_one(request: ApiRequest, task_id: str) -> Success | Problem:
    identity = id_of(task_id)
    if isinstance(identity, Problem):
        return identity
    change = _read(request.body, now=request.stores.clock())
    if isinstance(change, Refusal):
        return problem_of(change)
    outcome = Changer(request.stores, finder(request.stores)).change(identity, change)
    match outcome:
        case ChangeAccepted(task):
            return Success(HTTPStatus.OK, task_as_json(task))
        case NotWaiting(task):
            detail = f"only a waiting task can be changed; the task is {task.status}"
            return conflict("not_waiting", detail)
        case TooLate(expires_at_ms):
            detail = f"the task expires at {moment(expires_at_ms)}, before it could start"
            return unprocessable("invalid_request", detail, "/run_at")
        case PayloadGone(why):
            return unprocessable("invalid_request", why, "/run_at")
        case Nowhere() | Unsure():
            return unread(identity, outcome)
        case _:
            assert_never(outcome)


def _read(body: bytes, *, now: Millis) -> WantedChange | Refusal:
    value = read_value(body)
    if isinstance(value, Refusal):
        return value
    request = _change_request(value)
    if isinstance(request, Refusal):
        return request
    begin = read_begin(request.delay_seconds, request.run_at, now=now)
    metadata = None if request.metadata is UNSET else request.metadata
    if isinstance(begin, Refusal):
        return begin
    refusal = metadata_refusal(metadata or {})
    if refusal is not None:
        return refusal
    return WantedChange(
        run_at_ms=begin.run_at_ms if begin else None,
        delay_ms=begin.delay_ms if begin else None,
        metadata=metadata,
        priority=None if request.priority is UNSET else PRIORITIES[request.priority],
    )


def _change_request(value: Any) -> ChangeRequest | Refusal:
    if not isinstance(value, dict) or not value:
        detail = "name what to change: run_at, delay_seconds, priority or metadata"
        return invalid("invalid_request", detail, "")
    try:
        return msgspec.convert(value, ChangeRequest)
    except msgspec.ValidationError as error:
        return misfit(str(error))


@routes.post("/v1/tasks/<task_id>/redrive")
def redrive_one(request: ApiRequest, task_id: str) -> Success | Problem:
    identity = id_of(task_id)
    if isinstance(identity, Problem):
        return identity
    redriver = Redriver(request.stores, finder(request.stores))

    def ask() -> Redrive:
        (outcome,) = redriver.redrive([RedriveRequest(identity)])
        return outcome

    outcome = caught_up(request.stores, ask, lambda one: isinstance(one, Unsure) and one.is_behind)
    match outcome:
        case Again(task):
            return Success(HTTPStatus.ACCEPTED, task_as_json(task), f"/v1/tasks/{task.id}")
        case NotOver(task):
            detail = f"only a dead or cancelled task can be redriven; the task is {task.status}"
            return conflict("not_redrivable", detail)
        case Nowhere() | Unsure():
            return unread(identity, outcome)
        case _:
            assert_never(outcome)
