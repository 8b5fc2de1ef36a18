"""Outcomes of an attempt, returned by a worker or not."""

import re
from collections.abc import Iterable
from datetime import timedelta
from math import isfinite
from typing import Any, TypeAlias

import msgspec
from msgspec import Raw, Struct

from taskmill.core.pointers import POINTED_BYTES, Pointer
from taskmill.core.task import Envelope, Millis

RESULT_LIMIT = 65_536
RESULT_LEVELS = 100
"""Decoders have limited stacks: a deeper result could be written but not read again."""


class Succeeded(Struct, frozen=True):
    """The work is done; *result* is kept for clients to read."""

    result: Any = None


class Retry(Struct, frozen=True):
    """This attempt failed; try again after *delay*, or as the back-off says."""

    reason: str
    delay: timedelta | None = None
    may_have_worked: bool = False
    """Whether the effect may have happened anyway, so that a retry may duplicate it."""

    def __post_init__(self) -> None:
        _must_be("Retry's reason", self.reason, str)
        if self.delay is not None:
            _must_be("Retry's delay", self.delay, timedelta)
        _must_be("Retry's may_have_worked", self.may_have_worked, bool)


class Snooze(Struct, frozen=True):
    """It is too early; try again after *delay*, without using up an attempt."""

    delay: timedelta
    reason: str = ""

    def __post_init__(self) -> None:
        _must_be("Snooze's delay", self.delay, timedelta)
        _must_be("Snooze's reason", self.reason, str)


class Discard(Struct, frozen=True):
    """The task can never succeed; do not retry it."""

    reason: str

    def __post_init__(self) -> None:
        _must_be("Discard's reason", self.reason, str)


Outcome: TypeAlias = Succeeded | Retry | Snooze | Discard


def _must_be(what: str, value: object, kind: type) -> None:
    """Check the type right where the author is: later it would end the whole invocation."""
    if not isinstance(value, kind):
        raise TypeError(f"{what} must be a {kind.__name__}, not {value!r:.100}")


class Stored(Struct, frozen=True):
    """The work is done, and its result is stored in the bucket because it is large."""

    pointer: Pointer


class Raised(Struct, frozen=True):
    """The worker raised an exception."""

    error_class: str
    message: str
    is_hopeless: bool = False
    """True for an exception whose author wants the task discarded at once."""
    stack: str | None = None


class GivenBack(Struct, frozen=True):
    """The process had to end during the attempt: the next turn starts at once."""


class TimedOut(Struct, frozen=True):
    """The attempt ran past its deadline and was stopped."""

    limit: timedelta


class Misfit(Struct, frozen=True):
    """The payload does not fit what the worker expects."""

    message: str


class Poisoned(Struct, frozen=True):
    """The platform died under the task too often."""

    losses: int


class Cancelled(Struct, frozen=True):
    """The task was cancelled while it ran."""


class UnknownType(Struct, frozen=True):
    """No worker is deployed for this type."""

    name: str


class Expired(Struct, frozen=True):
    """The first start came too late."""

    at_ms: Millis


End: TypeAlias = (
    Outcome
    | Stored
    | Raised
    | GivenBack
    | TimedOut
    | Misfit
    | Poisoned
    | Cancelled
    | UnknownType
    | Expired
)


class Attempt(Struct, frozen=True, kw_only=True):
    """One claimed turn of a task, from its claim to its end."""

    envelope: Envelope
    token: int
    losses: int
    started_at_ms: Millis


def encode_result(result: Any, *, limit: int = RESULT_LIMIT) -> Raw:
    """Return *result* as JSON, or raise with the reason why it cannot be stored."""
    try:
        plain = msgspec.to_builtins(result, str_keys=True, enc_hook=_opened)
        encoded = msgspec.json.encode(result)
    except (TypeError, ValueError, RecursionError, AttributeError) as error:
        raise ValueError(f"the result is not JSON: {error}") from error
    if b"null" in encoded or _may_be_deep(encoded):
        _check(plain)  # of most results their JSON shows faster that nothing is wrong
    if b"\\u0000" in encoded and _NUL.search(encoded):  # this first check is fifty times faster
        raise ValueError("the result contains a NUL character, which the ledger cannot store")
    if len(encoded) > limit:
        raise ValueError(
            f"the result has {len(encoded)} bytes; the limit is {RESULT_LIMIT} inline,"
            f" {POINTED_BYTES} in the bucket"
        )
    return Raw(encoded)


def _opened(value: Any) -> Any:
    """Decode JSON that the worker wrote itself, which is passed on unchanged."""
    if isinstance(value, Raw):
        return msgspec.json.decode(value)
    raise TypeError(f"it contains a {type(value).__name__}")


def _may_be_deep(encoded: bytes) -> bool:
    """Return whether there are enough brackets for too many levels."""
    has_room = len(encoded) > 2 * RESULT_LEVELS
    return has_room and encoded.count(b"[") + encoded.count(b"{") > RESULT_LEVELS


def _check(plain: Any) -> None:
    """Refuse deep nesting, and floats without a JSON form, which msgspec would write as null."""
    level, levels = [plain], 0
    while level:
        if any(isinstance(value, float) and not isfinite(value) for value in level):
            raise ValueError("the result contains NaN or Infinity, which JSON cannot represent")
        level = [
            inner for value in level if isinstance(value, _HOLDERS) for inner in _inside(value)
        ]
        levels += 1
        if level and levels > RESULT_LEVELS:
            raise ValueError(f"the result is nested deeper than {RESULT_LEVELS} levels")


_HOLDERS = (dict, list, tuple, set, frozenset)


def _inside(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
"""The escape of a NUL, as opposed to an escaped backslash before "u0000"."""
