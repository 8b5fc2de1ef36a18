"""Answers requests without a route: 405 if the path exists, otherwise 404."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from http import HTTPStatus

import msgspec

from functions.gateway.http.problem import Problem
from functions.gateway.service import description

_PARAMETER = re.compile(r"\\\{[^/]+?\\\}")


def no_route(method: str, path: str) -> Problem:
    allowed = _methods_of(path)
    if not allowed or method in allowed:  # the route takes no such word
        detail = f"there is no route {method} {path}; GET /openapi.json describes every route"
        return Problem(HTTPStatus.NOT_FOUND, "not_found", detail)
    detail = f"{path} takes {' and '.join(allowed)}, not {method}"
    return Problem(HTTPStatus.METHOD_NOT_ALLOWED, "method_not_allowed", detail, allow=allowed)


def _methods_of(path: str) -> tuple[str, ...]:
    found = (methods for pattern, methods in _routes() if pattern.fullmatch(path))
    return tuple(sorted({method for methods in found for method in methods}))


@cache
def _routes() -> Sequence[tuple[re.Pattern[str], Sequence[str]]]:
    paths: Mapping[str, Mapping[str, object]] = msgspec.json.decode(description())["paths"]
    return [
        (re.compile(_PARAMETER.sub("[^/]+", re.escape(path))), [one.upper() for one in operations])
        for path, operations in paths.items()
    ]
