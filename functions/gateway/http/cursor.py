"""Opaque, tamper-evident pagination cursors."""

from base64 import b64decode, urlsafe_b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from functions.gateway.http.problem import Problem, bad_request
from taskmill.core.task import Millis

_OF_A_PAGE = {"cursor", "limit", "wait"}


class Mark(Struct, frozen=True):
    """Where a page ended: the moment that orders the list, and the name of its last line."""

    at_ms: Millis
    name: str


class _Cursor(Struct, array_like=True, frozen=True):
    at_ms: Annotated[Millis, Meta(ge=0, le=253_402_300_799_999)]  # until the year 9999
    name: str
    filter: str
    seal: str


def cursor_behind(mark: Mark, given: Mapping[str, str]) -> str:
    """Return the word that asks for the page behind *mark*, for the same filter."""
    return _word(mark, _digest(given))


def mark_of(text: str, given: Mapping[str, str]) -> Mark | Problem:
    """Return where the page before ended, if *text* is a word of ours for this filter."""
    try:
        cursor = msgspec.json.decode(b64decode(text, b"-_", validate=True), type=_Cursor)
    except (ValueError, RecursionError):
        return bad_request("the cursor is invalid: start without it")
    mark = Mark(cursor.at_ms, cursor.name)
    if text != _word(mark, cursor.filter):
        return bad_request("the cursor was modified: start without it")
    if cursor.filter != _digest(given):
        return bad_request("the cursor belongs to another filter: start without it")
    return mark


def _word(mark: Mark, digest: str) -> str:
    seal = sha256(f"cursor {mark.at_ms} {mark.name} {digest}".encode()).hexdigest()[:16]
    return urlsafe_b64encode(
        msgspec.json.encode(_Cursor(mark.at_ms, mark.name, digest, seal))
    ).decode()


def _digest(given: Mapping[str, str]) -> str:
    asked = {name: value for name, value in given.items() if name not in _OF_A_PAGE}
    return sha256(msgspec.json.encode(asked, order="deterministic")).hexdigest()[:16]
