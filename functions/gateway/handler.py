"""The HTTP API: each route reads its request, makes one call, and tells the answer."""

import logging
import random
from base64 import b64decode
from http import HTTPStatus
from typing import Any, TypeAlias

import msgspec
from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response, content_types
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEventV2
from msgspec import Raw

from functions.gateway.keys import refusal
from functions.gateway.listing import page_as_json, read_filter
from functions.gateway.presenter import task_as_json, type_as_json
from functions.gateway.problem import Problem, unavailable, unprocessable
from functions.gateway.reading import read_task
from functions.gateway.submitting import Told, submit_batch, submit_one
from taskmill import bootstrap
from taskmill.domain.errors import StoreUnavailable
from taskmill.domain.records import TaskView
from taskmill.domain.task import TaskId

Answer: TypeAlias = Response[str]

app = APIGatewayHttpResolver()
_log = logging.getLogger("taskmill.gateway")


def lambda_handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    bootstrap.log("gateway")
    request_id = event["requestContext"]["requestId"]
    refused = refusal(APIGatewayProxyEventV2(event), bootstrap.api_keys())
    answer = app.resolve(event, context) if refused is None else _turn_away(refused)
    return answer | {"headers": (answer.get("headers") or {}) | {"X-Request-Id": request_id}}


@app.not_found
def no_route(_error: Exception) -> Answer:
    detail = f"there is no route {app.current_event.http_method} {app.current_event.path}"
    return _tell(Problem(HTTPStatus.NOT_FOUND, "not_found", detail))


@app.exception_handler(Exception)  # type: ignore[untyped-decorator]  # powertools says not what it gives
def our_fault(error: Exception) -> Answer:
    request_id = app.current_event.request_context.request_id
    _log.error("request failed", exc_info=error, extra={"request_id": request_id})
    detail = "this is our fault, and logged"
    return _tell(Problem(HTTPStatus.INTERNAL_SERVER_ERROR, "internal_error", detail))


@app.post("/v1/tasks")
def post_task() -> Answer:
    body = _json_body()
    if isinstance(body, Problem):
        return _tell(body)
    return _tell(submit_one(body, app.current_event.headers.get("idempotency-key")))


@app.post("/v1/tasks/batch")
def post_batch() -> Answer:
    body = _json_body()
    return _tell(body if isinstance(body, Problem) else submit_batch(body))


@app.get("/v1/tasks/<task_id>")
def get_task(task_id: str) -> Answer:
    asked = app.current_event.query_string_parameters
    for name in asked:
        if name not in {"include", "wait"}:
            detail = f"there is no parameter {name!r}"
            return _tell(unprocessable("invalid_request", detail, name))
    include = asked.get("include")
    if include not in {None, "payload"}:
        detail = f"include knows 'payload', not {include!r}"
        return _tell(unprocessable("invalid_request", detail, "include"))
    found = read_task(task_id, asked.get("wait"))
    if isinstance(found, Problem):
        return _tell(found)
    if include is None:
        return _tell(Told(HTTPStatus.OK, task_as_json(found)))
    return _tell(_with_payload(found))


def _with_payload(task: TaskView) -> Told | Problem:
    try:
        payload = bootstrap.ledger_rows().payload(task.id)
    except StoreUnavailable:
        payload = None
    if payload is None:
        return unavailable("the ledger cannot tell the payload yet", 1)
    return Told(HTTPStatus.OK, task_as_json(task) | {"payload": Raw(payload)})


@app.get("/v1/tasks")
def get_tasks() -> Answer:
    asked = app.current_event.query_string_parameters
    wanted = read_filter(asked)
    if isinstance(wanted, Problem):
        return _tell(wanted)
    try:
        page = bootstrap.ledger_rows().page(wanted)
    except StoreUnavailable as error:
        return _tell(unavailable(f"lists come from the ledger: {error.store} is away", 2))
    return _tell(Told(HTTPStatus.OK, page_as_json(page, asked)))


@app.get("/v1/types")
def get_types() -> Answer:
    entries = bootstrap.gateway().catalogue.entries()
    return _tell(Told(HTTPStatus.OK, {"types": [type_as_json(entry) for entry in entries]}))


@app.get("/healthz")
def get_health() -> Answer:
    return _tell(Told(HTTPStatus.OK, {"status": "ok"}))


@app.get("/readyz")
def get_readiness() -> Answer:
    services = bootstrap.gateway()
    try:
        services.records.read([_NOBODY])
        services.log_ends.ends()
        bootstrap.ledger_rows().applied()
    except StoreUnavailable as error:
        return _tell(unavailable(f"{error.store} cannot be reached", 2))
    return _tell(Told(HTTPStatus.OK, {"status": "ready"}))


_PROBLEM_JSON = "application/problem+json"
_NOBODY = TaskId("00000000-0000-7000-8000-000000000000")


def _json_body() -> bytes | Problem:
    event = app.current_event
    media = (event.headers.get("content-type") or "").partition(";")[0].strip().lower()
    encoding = (event.headers.get("content-encoding") or "identity").lower()
    if media != "application/json" or encoding != "identity":
        detail = "send JSON as it is: Content-Type: application/json, without Content-Encoding"
        return Problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", detail)
    body = event.body or ""
    return b64decode(body) if event.is_base64_encoded else body.encode("utf-8", "surrogatepass")


def _tell(told: Told | Problem) -> Answer:
    if isinstance(told, Problem):
        return _tell_problem(told)
    headers: dict[str, str | list[str]] = {}
    if told.status is HTTPStatus.ACCEPTED:
        headers["Location"] = f"/v1/tasks/{told.body['id']}"
    return Response(
        told.status, content_types.APPLICATION_JSON, _as_text(told.body), headers=headers
    )


def _tell_problem(problem: Problem) -> Answer:
    headers: dict[str, str | list[str]] = {}
    if problem.retry_after_seconds is not None:
        jitter = random.randint(0, 1)  # noqa: S311 - it only spreads repeats
        headers["Retry-After"] = str(problem.retry_after_seconds + jitter)
    return Response(problem.status, _PROBLEM_JSON, _as_text(problem.as_json()), headers=headers)


def _turn_away(refused: Problem) -> dict[str, Any]:
    """Answer before any route is looked for: who has no key learns nothing about routes."""
    return {
        "statusCode": int(refused.status),
        "headers": {"Content-Type": _PROBLEM_JSON, "WWW-Authenticate": "Bearer"},
        "body": _as_text(refused.as_json()),
        "isBase64Encoded": False,
    }


def _as_text(body: dict[str, Any]) -> str:
    return msgspec.json.encode(body).decode()


bootstrap.at_init(bootstrap.api_keys)
bootstrap.at_init(bootstrap.gateway)
