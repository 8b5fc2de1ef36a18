"""Pauses types or everything, lists the pauses, and resumes."""

import math
from http import HTTPStatus
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from functions.gateway.http.auth import caller
from functions.gateway.http.body import read_as
from functions.gateway.http.parameters import read_moment
from functions.gateway.http.problem import Problem, missing, problem_of, unprocessable
from functions.gateway.http.routes import ApiRequest, Routes, Success
from functions.gateway.presenter import moment
from taskmill.core.task import Millis, TaskType
from taskmill.core.time import LONGEST_DELAY, in_ms
from taskmill.lanes.pauses import NotPaused, pause, pauses, resume
from taskmill.lanes.rules import EVERYTHING, PausedRule, PauseOrder, RuleKey, key_of
from taskmill.submission.read import unknown_type

routes = Routes("pauses are in the ledger")

LONGEST_PAUSE = LONGEST_DELAY
LONGEST_REASON = 500
EVERY_TYPE = "all"


class PauseRequest(Struct, forbid_unknown_fields=True, kw_only=True):
    """What is paused, until when, and why; without an end, until it is resumed."""

    type: (
        Annotated[
            str,
            Meta(min_length=1, max_length=128, description="A deployed type; without it, all."),
        ]
        | UnsetType
    ) = UNSET
    until: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=255,
                description="When the pause ends, with a zone.",
                extra_json_schema={"format": "date-time"},
            ),
        ]
        | UnsetType
    ) = UNSET
    seconds: (
        Annotated[
            float,
            Meta(
                gt=0,
                le=LONGEST_PAUSE.total_seconds(),
                description="How long the pause lasts; alternative to `until`.",
            ),
        ]
        | UnsetType
    ) = UNSET
    reason: (
        Annotated[
            str, Meta(min_length=1, max_length=LONGEST_REASON, description="Shown with the pause.")
        ]
        | UnsetType
    ) = UNSET


@routes.post("/v1/pauses", takes_json=True)
def make_pause(request: ApiRequest) -> Success | Problem:
    order = _order(request)
    if isinstance(order, Problem):
        return order
    paused = pause(order, request.stores)
    status = HTTPStatus.CREATED if paused.is_new else HTTPStatus.OK
    return Success(status, pause_as_json(paused.pause) | _deferred(is_deferred=paused.is_deferred))


@routes.get("/v1/pauses")
def list_pauses(request: ApiRequest) -> Success:
    return Success(
        HTTPStatus.OK, {"pauses": [pause_as_json(one) for one in pauses(request.stores)]}
    )


@routes.delete("/v1/pauses/<id>")
def end_pause(request: ApiRequest, id: str) -> Success | Problem:  # noqa: A002 - the parameter's name in the path
    key = _key(id)
    outcome = NotPaused() if key is None else resume(key, request.stores)
    if isinstance(outcome, NotPaused):
        return missing(f"there is no pause {id}; GET /v1/pauses lists those that are in force")
    return Success(
        HTTPStatus.OK, pause_as_json(outcome.pause) | _deferred(is_deferred=outcome.is_deferred)
    )


def _order(request: ApiRequest) -> PauseOrder | Problem:
    body = read_as(PauseRequest, request.body)
    if isinstance(body, Problem):
        return body
    task_type = None if body.type is UNSET else TaskType(body.type)
    if task_type is not None and request.stores.catalogue.entry(task_type) is None:
        return problem_of(unknown_type(task_type, request.stores.catalogue))
    until_ms = _end(body, now=request.stores.clock())
    if isinstance(until_ms, Problem):
        return until_ms
    return PauseOrder(
        key=key_of(task_type),
        until_ms=until_ms,
        reason=None if body.reason is UNSET else body.reason,
        by=caller(request),
    )


def _end(body: PauseRequest, *, now: Millis) -> Millis | Problem | None:
    if body.seconds is UNSET:
        return None if body.until is UNSET else _moment(body.until, now=now)
    if body.until is not UNSET:
        detail = "give either until or seconds, not both"
        return unprocessable("invalid_request", detail, "/seconds")
    return Millis(now + math.ceil(body.seconds * 1000))


def _moment(text: str, *, now: Millis) -> Millis | Problem | None:
    at_ms = read_moment("until", text)
    if isinstance(at_ms, Problem):
        return unprocessable("invalid_request", at_ms.detail, "/until")
    if at_ms is not None and at_ms <= now:
        detail = f"until is in the past: it is {moment(now)} now"
        return unprocessable("invalid_request", detail, "/until")
    if at_ms is not None and at_ms - now > in_ms(LONGEST_PAUSE):
        detail = (
            f"until may be at most {LONGEST_PAUSE.days} days ahead;"
            " leave it out to pause until someone resumes"
        )
        return unprocessable("invalid_request", detail, "/until")
    return at_ms


def pause_as_json(paused: PausedRule) -> dict[str, Any]:
    task_type = paused.key.type
    view = {"id": EVERY_TYPE if task_type is None else f"type:{task_type}"}
    if task_type is not None:
        view["type"] = task_type
    if paused.until_ms is not None:
        view["until"] = moment(paused.until_ms)
    if paused.reason is not None:
        view["reason"] = paused.reason
    return view | {"by": paused.by, "at": moment(paused.at_ms)}


def _deferred(*, is_deferred: bool) -> dict[str, str]:
    return {"lanes": "deferred"} if is_deferred else {}


def _key(name: str) -> RuleKey | None:
    """Return what a pause with this id is about, whether it is there or not."""
    if name == EVERY_TYPE:
        return EVERYTHING
    kind, _, value = name.partition(":")
    return key_of(TaskType(value)) if kind == "type" and value else None
