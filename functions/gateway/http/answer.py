"""Decodes request bodies and encodes responses."""

import random
from base64 import b64decode
from http import HTTPStatus
from typing import Any, TypeAlias

import msgspec
from aws_lambda_powertools.event_handler import Response, content_types
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEventV2
from msgspec import Struct

from functions.gateway.http.counting import count_refusal
from functions.gateway.http.problem import Problem

PROBLEM_JSON = "application/problem+json"

Answer: TypeAlias = Response[str]


class Told(Struct, frozen=True):
    """An answer that is not a problem."""

    status: HTTPStatus
    body: dict[str, Any]
    location: str | None = None


def new_router() -> APIGatewayHttpRouter:
    return APIGatewayHttpRouter()  # type: ignore[no-untyped-call]  # powertools says not what it gives


def json_body(event: APIGatewayProxyEventV2) -> bytes | Problem:
    media = (event.headers.get("content-type") or "").partition(";")[0].strip().lower()
    encoding = (event.headers.get("content-encoding") or "identity").lower()
    if media != "application/json" or encoding != "identity":
        detail = "send JSON as it is: Content-Type: application/json, without Content-Encoding"
        return Problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", detail)
    body = event.body or ""
    return b64decode(body) if event.is_base64_encoded else body.encode("utf-8", "surrogatepass")


def tell(told: Told | Problem) -> Answer:
    if isinstance(told, Problem):
        return _tell_problem(told)
    headers: dict[str, str | list[str]] = {}
    if told.location is not None:
        headers["Location"] = told.location
    return Response(
        told.status, content_types.APPLICATION_JSON, as_text(told.body), headers=headers
    )


def _tell_problem(problem: Problem) -> Answer:
    count_refusal(problem)
    headers: dict[str, str | list[str]] = {}
    if problem.retry_after_seconds is not None:
        jitter = random.randint(0, 1)  # noqa: S311 - it only spreads repeats
        headers["Retry-After"] = str(problem.retry_after_seconds + jitter)
    if problem.allow:
        headers["Allow"] = ", ".join(problem.allow)
    return Response(problem.status, PROBLEM_JSON, as_text(problem.as_json()), headers=headers)


def as_text(body: dict[str, Any]) -> str:
    return msgspec.json.encode(body).decode()
