"""Reads the routes of an HTTP API from the OpenAPI document that the translator writes."""

from collections.abc import Iterator, Mapping
from typing import Any

from taskmill_local.plan import RoutePlan
from taskmill_local.template.resource import Resource

_ANY = "x-amazon-apigateway-any-method"
_INTEGRATION = "x-amazon-apigateway-integration"
_METHODS = frozenset({"delete", "get", "head", "options", "patch", "post", "put", _ANY})
_DOCUMENT = frozenset({"info", "openapi", "paths", "tags"})
_OPERATION = frozenset({_INTEGRATION, "isDefaultRoute", "parameters", "responses"})
# A shorter timeout per route is not supported: every integration has the platform's 30 s.
_PROXY = frozenset({"httpMethod", "payloadFormatVersion", "type", "uri"})


def route_plans(resource: Resource) -> Iterator[RoutePlan]:
    document = resource.properties.get("Body") or {}
    _refuse_keys(resource, "Body", document, _DOCUMENT)
    for path, operations in (document.get("paths") or {}).items():
        _refuse_keys(resource, path, operations, _METHODS)
        for method in sorted(operations.keys() & _METHODS):
            yield _route(resource, path, method, operations[method])


def check_stage(resource: Resource) -> None:
    resource.expect("StageName", "$default", default=None)


def _route(resource: Resource, path: str, method: str, operation: Mapping[str, Any]) -> RoutePlan:
    name = "ANY" if method == _ANY else method.upper()
    place = f"{name} {path}"
    _refuse_keys(resource, place, operation, _OPERATION)
    integration = operation.get(_INTEGRATION) or {}
    _refuse_keys(resource, place, integration, _PROXY)
    form = (integration.get("type"), integration.get("payloadFormatVersion"))
    if form != ("aws_proxy", "2.0"):
        resource.complain(f"{place}: only functions with payload format 2.0 are supported here")
    return RoutePlan(
        method=name, path=path, function=resource.function(place, integration.get("uri"))
    )


def _refuse_keys(
    resource: Resource, place: str, mapping: Mapping[str, Any], known: frozenset[str]
) -> None:
    for key in sorted(mapping.keys() - known):
        resource.complain(
            f"{place}: {key} is not supported here; supported: {', '.join(sorted(known))}"
        )
