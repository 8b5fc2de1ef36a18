"""The routes of a subject: each takes a request and returns a success or a problem."""

import random
from base64 import b64decode
from collections.abc import Callable, Container, Mapping
from functools import wraps
from http import HTTPStatus
from typing import Any, Final, TypeAlias, TypeVar

import msgspec
from aws_lambda_powertools.event_handler import Response, content_types
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEventV2
from msgspec import Struct

from functions.gateway.http.parameters import unknown_parameter
from functions.gateway.http.problem import PROBLEM_JSON, Problem, unavailable
from taskmill.core.counting import Count
from taskmill.core.errors import StoreUnavailable
from taskmill.platform import process
from taskmill.stores.stores import Stores

STORES: Final = "stores"
"""The key of the stores in a request's context, where the handler puts them for the routes."""

Answer: TypeAlias = Response[str]


class Success(Struct, frozen=True):
    """A successful response."""

    status: HTTPStatus
    body: dict[str, Any]
    location: str | None = None


class ApiRequest(Struct, frozen=True, kw_only=True):
    """The parts of a request that routes read, and the stores of the process."""

    stores: Stores
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes = b""
    """The JSON body, for routes that take one."""


Route: TypeAlias = Callable[..., Success | Problem | Answer]
R = TypeVar("R", bound=Route)


class Routes:
    """Registers the route functions of one subject.

    While a store is unavailable they answer 503; *kept* explains which data is kept where.
    """

    def __init__(self, kept: str | None = None) -> None:
        self.router = APIGatewayHttpRouter()  # type: ignore[no-untyped-call]  # powertools has no annotation here
        self._kept = kept

    def get(self, path: str, *, parameters: Container[str] | None = None) -> Callable[[R], R]:
        """Register a GET route; it refuses query parameters other than *parameters*, if given."""
        return self._register("GET", path, parameters=parameters)

    def post(self, path: str, *, takes_json: bool = False) -> Callable[[R], R]:
        return self._register("POST", path, takes_json=takes_json)

    def put(self, path: str) -> Callable[[R], R]:
        return self._register("PUT", path, takes_json=True)

    def patch(self, path: str) -> Callable[[R], R]:
        return self._register("PATCH", path, takes_json=True)

    def delete(self, path: str) -> Callable[[R], R]:
        return self._register("DELETE", path)

    def _register(
        self,
        method: str,
        path: str,
        *,
        parameters: Container[str] | None = None,
        takes_json: bool = False,
    ) -> Callable[[R], R]:
        def register(route: R) -> R:
            @self.router.route(path, method)
            @wraps(route)
            def answer(**names: str) -> Answer:
                request = self._read(parameters, takes_json=takes_json)
                if isinstance(request, Problem):
                    return respond(request)
                return respond(self._call(route, request, names))

            return route

        return register

    def _read(self, parameters: Container[str] | None, *, takes_json: bool) -> ApiRequest | Problem:
        event: APIGatewayProxyEventV2 = self.router.current_event
        query = event.query_string_parameters
        unknown = None if parameters is None else unknown_parameter(query, parameters)
        if unknown is not None:
            return unknown
        body = _json_body(event) if takes_json else b""
        if isinstance(body, Problem):
            return body
        stores = self.router.context[STORES]
        return ApiRequest(stores=stores, query=query, headers=event.headers, body=body)

    def _call(
        self, route: Route, request: ApiRequest, names: Mapping[str, str]
    ) -> Success | Problem | Answer:
        try:
            return route(request, **names)
        except StoreUnavailable as error:
            if self._kept is None:
                raise
            return unavailable(f"{self._kept}: {error.store} is unavailable", 2)


def _json_body(event: APIGatewayProxyEventV2) -> bytes | Problem:
    media = (event.headers.get("content-type") or "").partition(";")[0].strip().lower()
    encoding = (event.headers.get("content-encoding") or "identity").lower()
    if media != "application/json" or encoding != "identity":
        detail = "send plain JSON: Content-Type: application/json, without Content-Encoding"
        return Problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", detail)
    body = event.body or ""
    return b64decode(body) if event.is_base64_encoded else body.encode("utf-8", "surrogatepass")


def respond(answer: Success | Problem | Answer) -> Answer:
    if isinstance(answer, Response):
        return answer
    if isinstance(answer, Problem):
        return _refuse(answer)
    headers: dict[str, str | list[str]] = {}
    if answer.location is not None:
        headers["Location"] = answer.location
    return Response(
        answer.status, content_types.APPLICATION_JSON, as_text(answer.body), headers=headers
    )


def _refuse(problem: Problem) -> Answer:
    count_refusal(problem)
    headers: dict[str, str | list[str]] = {}
    if problem.retry_after_seconds is not None:
        jitter = random.randint(0, 1)  # noqa: S311 - it only spreads retries
        headers["Retry-After"] = str(problem.retry_after_seconds + jitter)
    if problem.allow:
        headers["Allow"] = ", ".join(problem.allow)
    return Response(problem.status, PROBLEM_JSON, as_text(problem.as_json()), headers=headers)


def count_refusal(problem: Problem) -> None:
    process.counters().count(Count.REFUSALS, reason=problem.type)


def as_text(body: Mapping[str, object]) -> str:
    return msgspec.json.encode(body).decode()
