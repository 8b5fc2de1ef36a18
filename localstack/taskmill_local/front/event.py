"""Converts a request to the event that a function receives: payload format 2.0."""

import base64
import json
import secrets
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote

from taskmill_local.front.request import Request
from taskmill_local.front.routing import Match

_API = "local"
_ACCOUNT = "000000000000"
_DOMAIN = "localhost"
_STAGE = "$default"
# Measured on the platform: everything else is binary, including forms and bodies without a type.
_TEXT_TYPES = frozenset({"application/json", "application/javascript", "application/xml"})
# They concern only this connection; cookies have their own place in the event.
_NOT_HANDED_ON = frozenset(
    {
        "connection",
        "cookie",
        "expect",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)


def event_of(request: Request, match: Match, *, port: int) -> bytes:
    head = request.head
    event = {
        "version": "2.0",
        "routeKey": match.route_key,
        # Decoded, as the platform does for HTTP APIs.
        "rawPath": unquote(head.path),
        "rawQueryString": head.query,
        **_present("cookies", _cookies(head.headers)),
        "headers": _headers(request, port),
        **_present("queryStringParameters", _query_parameters(head.query)),
        "requestContext": _context(request, match),
        **_present("pathParameters", match.parameters),
        **_body(request),
    }
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "surrogatepass"
    )


def _present(name: str, value: Any) -> dict[str, Any]:
    return {name: value} if value else {}


def _cookies(headers: Mapping[str, str]) -> list[str]:
    return [cookie for part in headers.get("cookie", "").split(";") if (cookie := part.strip())]


def _headers(request: Request, port: int) -> dict[str, str]:
    own = request.head.headers
    headers = {name: value for name, value in own.items() if name not in _NOT_HANDED_ON}
    if request.head.is_chunked:
        headers["content-length"] = str(len(request.body))
    addresses = own.get("x-forwarded-for")
    client = request.source_ip
    headers["x-forwarded-for"] = f"{addresses}, {client}" if addresses else client
    headers["x-forwarded-port"] = str(port)
    headers["x-forwarded-proto"] = "http"
    headers.setdefault("x-amzn-trace-id", _new_trace(request))
    return headers


def _new_trace(request: Request) -> str:
    return f"Root=1-{int(request.arrived_at.timestamp()):08x}-{secrets.token_hex(12)}"


def _query_parameters(query: str) -> dict[str, str]:
    parameters: dict[str, str] = {}
    for name, value in parse_qsl(query, keep_blank_values=True) if query else ():
        earlier = parameters.get(name)
        parameters[name] = value if earlier is None else f"{earlier},{value}"
    return parameters


def _context(request: Request, match: Match) -> dict[str, Any]:
    head = request.head
    return {
        "accountId": _ACCOUNT,
        "apiId": _API,
        "domainName": _DOMAIN,
        "domainPrefix": _DOMAIN,
        "http": {
            "method": head.method,
            "path": unquote(head.path),
            "protocol": head.protocol,
            "sourceIp": request.source_ip,
            "userAgent": head.headers.get("user-agent", ""),
        },
        "requestId": request.id,
        "routeKey": match.route_key,
        "stage": _STAGE,
        "time": request.arrived_at.strftime("%d/%b/%Y:%H:%M:%S +0000"),
        "timeEpoch": int(request.arrived_at.timestamp() * 1_000),
    }


def _body(request: Request) -> dict[str, Any]:
    if not request.body:
        return {"isBase64Encoded": False}
    if _is_text(request.head.headers.get("content-type", "")):
        try:
            return {"body": request.body.decode(), "isBase64Encoded": False}
        except UnicodeDecodeError:
            pass  # compressed or in another encoding: base64 preserves every byte
    return {"body": base64.b64encode(request.body).decode(), "isBase64Encoded": True}


def _is_text(content_type: str) -> bool:
    media_type = content_type.partition(";")[0].strip().lower()
    return media_type.startswith("text/") or media_type in _TEXT_TYPES
