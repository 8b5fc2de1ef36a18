"""Encodes a webhook as the bytes of an HTTP request."""

from collections.abc import Mapping

import msgspec
from msgspec import Struct, UnsetType

from functions.workers.webhook.payload import Webhook
from taskmill.egress.ssrf_guard import DEPTH_HEADER, Target

_ALWAYS_WITH_BODY = {"POST", "PUT", "PATCH"}


class Body(Struct, frozen=True):
    octets: bytes
    media: str | None


def body_of(webhook: Webhook) -> Body:
    """Return a text unchanged, and every other value as the JSON it came as."""
    if isinstance(webhook.body, UnsetType):
        return Body(b"", None)
    raw = bytes(webhook.body)
    if raw.startswith(b'"'):
        text = msgspec.json.decode(raw, type=str)
        return Body(text.encode(), "text/plain; charset=utf-8")
    return Body(raw, "application/json")


def request_to(target: Target, webhook: Webhook, body: Body, signature: Mapping[str, str]) -> bytes:
    headers = {"accept": "*/*", "user-agent": "taskmill"}
    if body.media is not None:
        headers["content-type"] = body.media
    headers |= {name.lower(): value for name, value in webhook.headers.items()}
    headers |= {"host": target.place, "connection": "close", "accept-encoding": "identity"}
    headers |= {DEPTH_HEADER: "1", **signature}
    if body.octets or webhook.method in _ALWAYS_WITH_BODY:
        headers["content-length"] = str(len(body.octets))
    lines = [f"{webhook.method} {target.path} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("ascii") + body.octets
