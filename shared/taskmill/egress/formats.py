"""The formats that schemas of payloads may name, and what is wrong with a text that misses one."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, TypeAlias

from taskmill.egress.wall import Walled, target_of

WEBHOOK_URL: Final = "webhook-url"
WEBHOOK_HEADER: Final = "webhook-header"
HEADER_VALUE: Final = "header-value"

Complaint: TypeAlias = Callable[[str], str | None]
"""Says what is wrong with a text, or nothing."""

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
        return "the name of a header is up to 100 letters, digits and hyphens"
    if name.lower() in _OURS or name.lower().startswith(_OUR_FAMILIES):
        return f"the header {name} is ours to send"
    return None


def wrong_header_value(value: str) -> str | None:
    if not _VALUE.fullmatch(value):
        return "the value of a header is printable ASCII, without spaces at its ends"
    return None


def _wrong_target(url: str, *, reaches_loopback: bool) -> str | None:
    target = target_of(url, reaches_loopback=reaches_loopback)
    return target.why if isinstance(target, Walled) else None
