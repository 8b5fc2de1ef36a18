"""Parses JSON strictly: anything that two parsers could read differently is refused."""

import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

DEEPEST = 32
LONGEST_INTEGER = 4_300
_DUBIOUS_ESCAPE = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")


class NotJson(Exception):
    """The body is not strict JSON; the message says where it fails."""


def read(body: bytes) -> Any:
    """Return the value of *body*, or raise `NotJson`."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotJson(f"the body is not UTF-8: {error.reason} at byte {error.start}") from error
    try:
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_no_constant,
            parse_float=_float,
            parse_int=_int,
        )
    except json.JSONDecodeError as error:
        raise NotJson(f"the body is not JSON: {error.msg} at character {error.pos}") from error
    except RecursionError as error:
        raise NotJson(_TOO_DEEP) from error
    _check_depth(value, 0)
    if _DUBIOUS_ESCAPE.search(body) or b"\x00" in body:
        _check_texts(value)
    return value


_TOO_DEEP = f"the body is nested deeper than {DEEPEST} levels"


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise NotJson(f"the key {twice!r} appears twice in one object")
    return members


def _no_constant(name: str) -> Any:
    raise NotJson(f"{name} is not JSON")


def _float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise NotJson(f"the number {text[:40]} is too large")
    return number


def _int(text: str) -> int:
    if len(text) > LONGEST_INTEGER:
        raise NotJson(f"an integer has {len(text)} digits; the limit is {LONGEST_INTEGER}")
    return int(text)


def _check_depth(value: Any, depth: int) -> None:
    if not isinstance(value, dict | list):
        return
    if depth == DEEPEST:
        raise NotJson(_TOO_DEEP)
    for member in value.values() if isinstance(value, dict) else value:
        if isinstance(member, dict | list):  # most are neither, and a call would cost as much
            _check_depth(member, depth + 1)


def _check_texts(value: Any) -> None:
    if isinstance(value, str):
        _check_text(value)
    elif isinstance(value, dict):
        for name, member in value.items():
            _check_text(name)
            _check_texts(member)
    elif isinstance(value, list):
        for member in value:
            _check_texts(member)


def _check_text(text: str) -> None:
    if "\x00" in text:
        raise NotJson("a string contains a NUL character")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise NotJson("a string contains half a surrogate pair") from error


_LARGEST = 2**53
"""Beyond this a number with a decimal point does not identify one whole number."""


class _Reading(Struct):
    was_pointed: bool = False

    def number(self, text: str) -> float | int:
        number = float(text)
        if not number.is_integer() or abs(number) > _LARGEST:
            return number
        self.was_pointed = True
        return int(number)


def with_whole_numbers(payload: bytes) -> bytes | None:
    """Return *payload* with 3 for 3.0 and 100 for 1e2, or None if nothing is written so."""
    reading = _Reading()
    value = json.loads(payload, parse_float=reading.number)
    return msgspec.json.encode(value) if reading.was_pointed else None
