"""The HTTP API: each route reads its request, makes one call and returns the response."""

import logging
from functools import cache
from http import HTTPStatus
from importlib import import_module
from typing import Any, Final

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEventV2

from functions.gateway import submitting
from functions.gateway.http.auth import refusal
from functions.gateway.http.problem import PROBLEM_JSON, Problem
from functions.gateway.http.routes import STORES, Answer, as_text, count_refusal, respond
from taskmill.platform import process
from taskmill.stores.patience import OF_A_REQUEST
from taskmill.stores.stores import Stores

_ALL_BUT_SUBMITTING: Final = (
    "endpoints",
    "enqueued",
    "trigger",
    "history",
    "listing",
    "orders",
    "pauses",
    "payloads",
    "quarantine",
    "reading",
    "redrives",
    "schedules",
    "service",
    "statistics",
)
_SUBMITTING: Final = frozenset({"POST /v1/tasks", "POST /v1/tasks/batch"})
_NEEDS: Final = ("kafka", "redis", "postgres", "s3", "api_keys")
app = APIGatewayHttpResolver()
app.include_router(submitting.routes.router)
_log = logging.getLogger("taskmill.gateway")


def _stores() -> Stores:
    """Return the stores, with short waits for one that is unavailable."""
    return process.stores("gateway", needs=_NEEDS, patience=OF_A_REQUEST)


@process.invocation("gateway")
def lambda_handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    request_id = event["requestContext"]["requestId"]
    request = APIGatewayProxyEventV2(event)
    if f"{request.http_method} {request.path}" not in _SUBMITTING:
        know_every_route()
    app.context[STORES] = stores = _stores()
    problem = refusal(request, stores.api_keys)
    response = app.resolve(event, context) if problem is None else _turn_away(problem)
    return response | {"headers": (response.get("headers") or {}) | {"X-Request-Id": request_id}}


@cache
def know_every_route() -> None:
    """Import the routes that submit no task on first use: a cold start delays its client."""
    for subject in _ALL_BUT_SUBMITTING:
        app.include_router(import_module(f"functions.gateway.{subject}").routes.router)


@app.not_found
def nowhere(_error: Exception) -> Answer:
    from functions.gateway.service import no_route  # noqa: PLC0415 - this keeps cold starts short

    return respond(no_route(app.current_event.http_method, app.current_event.path))


@app.exception_handler(Exception)  # type: ignore[untyped-decorator]  # powertools has no annotation here
def our_fault(error: Exception) -> Answer:
    request_id = app.current_event.request_context.request_id
    _log.error("request failed", exc_info=error, extra={"request_id": request_id})
    detail = "internal error; it was logged: quote the X-Request-Id when you report it"
    return respond(Problem(HTTPStatus.INTERNAL_SERVER_ERROR, "internal_error", detail))


def _turn_away(problem: Problem) -> dict[str, Any]:
    """Respond before any route is looked up: a client without a key learns nothing about routes."""
    count_refusal(problem)
    headers = {"Content-Type": PROBLEM_JSON}
    if problem.status is HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    return {
        "statusCode": int(problem.status),
        "headers": headers,
        "body": as_text(problem.as_json()),
        "isBase64Encoded": False,
    }


process.at_init(
    lambda: _stores().opened(
        "api_keys",
        "admission",
        "control",
        "delays",
        "records",
        "bus",
        "log_ends",
        "waiters",
        "catalogue",
    )
)
