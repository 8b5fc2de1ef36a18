"""Pages that fit into a response, and opaque, tamper-evident cursors to the next one."""

from base64 import b64decode, urlsafe_b64encode
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from hashlib import sha256
from itertools import accumulate
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Raw, Struct

from functions.gateway.http.problem import Problem, bad_request
from taskmill.core.task import Millis

PAGE_BYTES = 2_000_000
"""The platform's limit is 6 MB, and its escaping can turn one byte into three."""

_OF_A_PAGE = {"cursor", "limit", "wait"}


class Mark(Struct, frozen=True):
    """Where a page ended: the time by which the list is ordered, and the name of its last line."""

    at_ms: Millis
    name: str


class Line(Struct, frozen=True):
    shown: dict[str, Any]
    mark: Mark


class _Cursor(Struct, array_like=True, frozen=True):
    at_ms: Annotated[Millis, Meta(ge=0, le=253_402_300_799_999)]  # until the year 9999
    name: str
    filter: str
    seal: str


def page_of(
    lines: Sequence[Line], *, rest: Mark | None, query: Mapping[str, str]
) -> tuple[list[Raw], str | None]:
    """Return the first entries that fit in a response, and the cursor of the next page.

    *rest* marks the end of *lines* when the list continues after them.
    """
    texts = [Raw(msgspec.json.encode(line.shown)) for line in lines]
    ends = list(accumulate(len(bytes(line)) for line in texts))
    most = max(bisect_right(ends, PAGE_BYTES), 1)
    if most < len(texts):
        texts, rest = texts[:most], lines[most - 1].mark
    return texts, None if rest is None else cursor_after(rest, query)


def cursor_after(mark: Mark, query: Mapping[str, str]) -> str:
    """Return the cursor of the page after *mark*, for the same filter."""
    return _word(mark, _digest(query))


def mark_of(text: str, query: Mapping[str, str]) -> Mark | Problem:
    """Return where the previous page ended, if *text* is a valid cursor for this filter."""
    try:
        cursor = msgspec.json.decode(b64decode(text, b"-_", validate=True), type=_Cursor)
    except (ValueError, RecursionError):
        return bad_request("the cursor is invalid: start without it")
    mark = Mark(cursor.at_ms, cursor.name)
    if text != _word(mark, cursor.filter):
        return bad_request("the cursor was modified: start without it")
    if cursor.filter != _digest(query):
        return bad_request("the cursor belongs to another filter: start without it")
    return mark


def _word(mark: Mark, digest: str) -> str:
    seal = sha256(f"cursor {mark.at_ms} {mark.name} {digest}".encode()).hexdigest()[:16]
    return urlsafe_b64encode(
        msgspec.json.encode(_Cursor(mark.at_ms, mark.name, digest, seal))
    ).decode()


def _digest(query: Mapping[str, str]) -> str:
    filters = {name: value for name, value in query.items() if name not in _OF_A_PAGE}
    return sha256(msgspec.json.encode(filters, order="deterministic")).hexdigest()[:16]
