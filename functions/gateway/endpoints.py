"""Disabled endpoints of webhooks over HTTP: shown and enabled."""

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from functions.gateway.http.answer import Answer, Told, json_body, new_router, tell
from functions.gateway.http.problem import (
    Problem,
    bad_request,
    missing,
    unavailable,
    unknown_parameter,
    unprocessable,
)
from functions.gateway.listing import read_limit
from functions.gateway.presenter import moment
from functions.gateway.stores import stores
from taskmill.core.errors import StoreUnavailable
from taskmill.egress.endpoints import DisabledEndpoint
from taskmill.egress.formats import WEBHOOK_URL
from taskmill.egress.wall import Walled, target_of
from taskmill.submission import strict_json

router = new_router()


@router.get("/v1/endpoints/disabled")
def get_disabled() -> Answer:
    return _told(lambda: list_disabled(router.current_event.query_string_parameters))


@router.post("/v1/endpoints/enable")
def post_enable() -> Answer:
    body = json_body(router.current_event)
    return tell(body) if isinstance(body, Problem) else _told(lambda: enable_endpoint(body))


def _told(call: Callable[[], Told | Problem]) -> Answer:
    try:
        return tell(call())
    except StoreUnavailable as error:
        return tell(unavailable(f"disabled endpoints are in Redis: {error.store} is away", 2))


class EnableRequest(Struct, forbid_unknown_fields=True):
    """The URL of a receiver; what stands behind its path does not count."""

    url: Annotated[str, Meta(extra_json_schema={"format": WEBHOOK_URL})]


def list_disabled(given: Mapping[str, str]) -> Told | Problem:
    unknown = unknown_parameter(given, {"limit"})
    if unknown is not None:
        return unknown
    limit = read_limit(given.get("limit"))
    if isinstance(limit, Problem):
        return limit
    disabled = stores().endpoints.disabled(most=limit)
    return Told(HTTPStatus.OK, {"endpoints": [_shown(one) for one in disabled]})


def enable_endpoint(body: bytes) -> Told | Problem:
    try:
        request = msgspec.convert(strict_json.read(body), EnableRequest)
    except strict_json.NotJson as error:
        return bad_request(str(error))
    except msgspec.ValidationError as error:
        return unprocessable("invalid_request", str(error))
    # What leads to this machine was called only where that is allowed; its name is no danger.
    target = target_of(request.url, reaches_loopback=True)
    if isinstance(target, Walled):
        return unprocessable("invalid_request", target.why, "/url")
    if not stores().endpoints.enable(target.endpoint):
        return missing(f"{target.endpoint} is not disabled")
    return Told(HTTPStatus.OK, {"url": target.endpoint, "enabled": True})


def _shown(endpoint: DisabledEndpoint) -> dict[str, Any]:
    return {"url": endpoint.url, "disabled_at": moment(endpoint.at_ms)}
