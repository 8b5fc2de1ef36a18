"""Keeps foreign web pages in a browser on this machine away from the local system."""

import json
import re
from collections.abc import Callable
from http import HTTPStatus
from ipaddress import ip_address
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from taskmill_local.front.head import Head
from taskmill_local.front.reply import Reply
from taskmill_local.front.request import Request

Guard: TypeAlias = Callable[[Request], Reply | None]
"""Returns the refusal of a request, or None."""

_PROBLEM_JSON: Final = "application/problem+json"
_JSON: Final = "application/json"
_READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_PORT: Final = re.compile(r":[0-9]*$")


def nobody_refused(_request: Request) -> None:
    """Refuse nothing: the platform's HTTP API has no such checks."""


def local_only(request: Request) -> Reply | None:
    """Refuse requests that a foreign page can send: another host, another origin, or a form."""
    head = request.head
    if not _is_loopback(_PORT.sub("", head.headers.get("host", ""))):
        return _refusal(
            HTTPStatus.FORBIDDEN,
            "forbidden",
            "the local system answers to names of this machine only: send Host: localhost",
        )
    if head.method in _READING:
        return None
    if not _is_same_origin(head):
        return _refusal(
            HTTPStatus.FORBIDDEN,
            "forbidden",
            "pages of another origin may not change anything here: omit Origin",
        )
    if request.body and not _is_json(head):
        return _refusal(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            "unsupported_media_type",
            "send plain JSON: Content-Type: application/json, without Content-Encoding",
        )
    return None


def _is_loopback(name: str) -> bool:
    if not name or name.lower() == "localhost" or name.lower().endswith(".localhost"):
        return True  # browsers always send a host; HTTP/1.0 programs may omit it
    try:
        return ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False


def _is_same_origin(head: Head) -> bool:
    origin = head.headers.get("origin")
    if origin is None:
        return True
    return urlsplit(origin).netloc.lower() == head.headers.get("host", "").lower() != ""


def _is_json(head: Head) -> bool:
    return head.headers.get("content-type", "").partition(";")[0].strip().lower() == _JSON


def _refusal(status: HTTPStatus, kind: str, detail: str) -> Reply:
    problem = {"type": kind, "title": status.phrase, "status": int(status), "detail": detail}
    return Reply(status, json.dumps(problem).encode(), (("content-type", _PROBLEM_JSON),))
