"""Lists and enables disabled webhook endpoints over HTTP."""

from http import HTTPStatus
from typing import Annotated, Any

from msgspec import Meta, Struct

from functions.gateway.http.body import read_as
from functions.gateway.http.parameters import read_limit
from functions.gateway.http.problem import Problem, missing, unprocessable
from functions.gateway.http.routes import ApiRequest, Routes, Success
from functions.gateway.presenter import moment
from taskmill.egress.endpoints import DisabledEndpoint
from taskmill.egress.formats import WEBHOOK_URL
from taskmill.egress.ssrf_guard import Blocked, target_of

routes = Routes("disabled endpoints are in Redis")


class EnableRequest(Struct, forbid_unknown_fields=True):
    """The URL of a receiver; everything after the path is ignored."""

    url: Annotated[str, Meta(extra_json_schema={"format": WEBHOOK_URL})]


@routes.get("/v1/endpoints/disabled", parameters={"limit"})
def list_disabled(request: ApiRequest) -> Success | Problem:
    limit = read_limit(request.query.get("limit"))
    if isinstance(limit, Problem):
        return limit
    endpoints = request.stores.endpoints.disabled(most=limit)
    return Success(HTTPStatus.OK, {"endpoints": [_view(one) for one in endpoints]})


@routes.post("/v1/endpoints/enable", takes_json=True)
def enable_endpoint(request: ApiRequest) -> Success | Problem:
    body = read_as(EnableRequest, request.body)
    if isinstance(body, Problem):
        return body
    # A target on this machine was only called where that is allowed, so its name is harmless.
    target = target_of(body.url, reaches_loopback=True)
    if isinstance(target, Blocked):
        return unprocessable("invalid_request", target.why, "/url")
    if not request.stores.endpoints.enable(target.endpoint):
        return missing(f"{target.endpoint} is not disabled")
    return Success(HTTPStatus.OK, {"url": target.endpoint, "enabled": True})


def _view(endpoint: DisabledEndpoint) -> dict[str, Any]:
    return {"url": endpoint.url, "disabled_at": moment(endpoint.at_ms)}
