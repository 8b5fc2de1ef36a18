"""Authenticates API keys; every failure gets the same 401."""

from http import HTTPStatus

from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEventV2

from functions.gateway.http.problem import Problem
from taskmill.stores.api_keys import ApiKeys

_OPEN_TO_ALL = "/healthz"
_REFUSED = Problem(
    HTTPStatus.UNAUTHORIZED,
    "unauthorized",
    "send an API key: Authorization: Bearer <key>, or X-Api-Key: <key>",
)


def refusal(event: APIGatewayProxyEventV2, keys: ApiKeys | None) -> Problem | None:
    if keys is None or event.path == _OPEN_TO_ALL:
        return None
    if not keys.know(_key_of(event)):
        return _REFUSED
    # A key in a URL has been written to logs on its way: it is taken for stolen. The platform
    # joins the values of a name that comes twice.
    told = ",".join(event.query_string_parameters.values()).split(",")
    return _REFUSED if any(map(keys.know, told)) else None


def caller(event: APIGatewayProxyEventV2, keys: ApiKeys | None) -> str:
    """Return the name under which the caller's key is known."""
    name = keys.name_of(_key_of(event)) if keys else None
    return name or "anybody"


def _key_of(event: APIGatewayProxyEventV2) -> str:
    scheme, _, key = event.headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else event.headers.get("x-api-key", "")
