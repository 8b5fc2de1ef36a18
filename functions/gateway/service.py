"""Health, readiness, and the API's own description with the routes it has."""

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from http import HTTPStatus
from pathlib import Path

import msgspec
from aws_lambda_powertools.event_handler import Response, content_types

from functions.gateway.http.problem import Problem, unavailable
from functions.gateway.http.routes import Answer, ApiRequest, Routes, Success
from taskmill import __version__
from taskmill.core.errors import StoreUnavailable
from taskmill.core.task import TaskId
from taskmill.recovery.readiness import Readiness
from taskmill.stores.stores import Stores

routes = Routes()
_PARAMETER = re.compile(r"\\\{[^/]+?\\\}")
_NOBODY = TaskId("00000000-0000-7000-8000-000000000000")


@routes.get("/healthz")
def read_health(_: ApiRequest) -> Success:
    return Success(HTTPStatus.OK, {"status": "ok", "version": __version__})


@routes.get("/readyz")
def read_readiness(request: ApiRequest) -> Success | Problem:
    stores = request.stores
    try:
        stores.records.read([_NOBODY])
        stores.log_ends.ends()
        stores.ledger_rows.applied()
        complaint = _readiness(stores).complaint()
    except StoreUnavailable as error:
        return unavailable(f"{error.store} cannot be reached", 2)
    if complaint is not None:
        return unavailable(complaint, 2)
    return Success(HTTPStatus.OK, {"status": "ready"})


@lru_cache(maxsize=1)
def _readiness(stores: Stores) -> Readiness:
    """Return the one readiness check, which remembers since when something is cold."""
    return Readiness(stores.health, stores.lane_states, stores.clock)


@routes.get("/openapi.json")
def read_description(_: ApiRequest) -> Answer:
    return Response(HTTPStatus.OK, content_types.APPLICATION_JSON, description())


@cache
def description() -> str:
    return Path(__file__).with_name("openapi.json").read_text()


def no_route(method: str, path: str) -> Problem:
    """Answer a request without a route: 405 if the path exists, otherwise 404."""
    methods = _methods_of(path)
    if not methods or method in methods:  # no route accepts this parameter
        detail = f"there is no route {method} {path}; GET /openapi.json describes every route"
        return Problem(HTTPStatus.NOT_FOUND, "not_found", detail)
    detail = f"{path} takes {' and '.join(methods)}, not {method}"
    return Problem(HTTPStatus.METHOD_NOT_ALLOWED, "method_not_allowed", detail, allow=methods)


def _methods_of(path: str) -> tuple[str, ...]:
    matches = (methods for pattern, methods in _paths() if pattern.fullmatch(path))
    return tuple(sorted({method for methods in matches for method in methods}))


@cache
def _paths() -> Sequence[tuple[re.Pattern[str], Sequence[str]]]:
    paths: Mapping[str, Mapping[str, object]] = msgspec.json.decode(description())["paths"]
    return [
        (re.compile(_PARAMETER.sub("[^/]+", re.escape(path))), [one.upper() for one in operations])
        for path, operations in paths.items()
    ]
