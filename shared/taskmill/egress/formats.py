"""The formats that payload schemas may name, and messages for texts that do not match."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, TypeAlias

from taskmill.egress.ssrf_guard import Blocked, target_of

WEBHOOK_URL: Final = "webhook-url"
WEBHOOK_HEADER: Final = "webhook-header"
HEADER_VALUE: Final = "header-value"

Complaint: TypeAlias = Callable[[str], str | None]
"""Returns what is wrong with a text, or None."""

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_VALUE = re.compile(r"[!-~](?:[\t -~]*[!-~])?|")
_OURS = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_OUR_FAMILIES = ("proxy-", "taskmill-", "webhook-")


def formats(*, reaches_loopback: bool) -> Mapping[str, Complaint]:
    return {
        WEBHOOK_URL: partial(_wrong_target, reaches_loopback=reaches_loopback),
        WEBHOOK_HEADER: wrong_header_name,
        HEADER_VALUE: wrong_header_value,
    }


def wrong_header_name(name: str) -> str | None:
    if not _TOKEN.fullmatch(name):
        return "a header name has up to 100 letters, digits and hyphens"
    if name.lower() in _OURS or name.lower().startswith(_OUR_FAMILIES):
        return f"the header {name} is reserved"
    return None


def wrong_header_value(value: str) -> str | None:
    if not _VALUE.fullmatch(value):
        return "a header value must be printable ASCII without leading or trailing spaces"
    return None


def _wrong_target(url: str, *, reaches_loopback: bool) -> str | None:
    target = target_of(url, reaches_loopback=reaches_loopback)
    return target.why if isinstance(target, Blocked) else None
