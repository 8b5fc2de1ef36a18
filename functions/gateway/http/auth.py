"""Authenticates API keys, with the same 401 for every failure, and rejects calls that may loop."""

from collections.abc import Mapping
from http import HTTPStatus

from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEventV2

from functions.gateway.http.problem import Problem
from functions.gateway.http.routes import ApiRequest
from taskmill.egress.ssrf_guard import DEPTH_HEADER
from taskmill.stores.api_keys import ApiKeys

_OPEN_TO_ALL = "/healthz"
_REFUSED = Problem(
    HTTPStatus.UNAUTHORIZED,
    "unauthorized",
    "send an API key: Authorization: Bearer <key>, or X-Api-Key: <key>",
)


_LOOP = Problem(
    HTTPStatus.FORBIDDEN,
    "forbidden",
    "a webhook task must not call the API of a queue: it could loop forever",
)


def refusal(event: APIGatewayProxyEventV2, keys: ApiKeys | None) -> Problem | None:
    if keys is not None and event.path != _OPEN_TO_ALL and not _is_known(event, keys):
        return _REFUSED
    return _LOOP if DEPTH_HEADER in event.headers else None


def _is_known(event: APIGatewayProxyEventV2, keys: ApiKeys) -> bool:
    if not keys.know(_key_of(event.headers)):
        return False
    # A key in a URL has been logged along the way, so it counts as stolen. The platform joins the
    # values of a repeated header.
    values = ",".join(event.query_string_parameters.values()).split(",")
    return not any(map(keys.know, values))


def caller(request: ApiRequest) -> str:
    """Return the name of the caller's key."""
    keys = request.stores.api_keys
    name = keys.name_of(_key_of(request.headers)) if keys else None
    return name or "anybody"


def _key_of(headers: Mapping[str, str]) -> str:
    scheme, _, key = headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else headers.get("x-api-key", "")
