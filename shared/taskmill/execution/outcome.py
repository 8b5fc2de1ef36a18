"""Outcomes of an attempt, whether a worker returned them or not."""

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
"""Readers have stacks: what is nested much deeper could be written and not be read again."""


class Succeeded(Struct, frozen=True):
    """The work is done; *result* is kept for the one who asked."""

    result: Any = None


class Retry(Struct, frozen=True):
    """It did not work this time; try again, after *delay* or as the back-off says."""

    reason: str
    delay: timedelta | None = None
    may_have_worked: bool = False
    """Whether the effect may be there all the same, so that the next try may double it."""

    def __post_init__(self) -> None:
        _must_be("Retry's reason", self.reason, str)
        if self.delay is not None:
            _must_be("Retry's delay", self.delay, timedelta)
        _must_be("Retry's may_have_worked", self.may_have_worked, bool)


class Snooze(Struct, frozen=True):
    """It is not yet time; come again after *delay*, which spends no attempt."""

    delay: timedelta
    reason: str = ""

    def __post_init__(self) -> None:
        _must_be("Snooze's delay", self.delay, timedelta)
        _must_be("Snooze's reason", self.reason, str)


class Discard(Struct, frozen=True):
    """It will never work; do not try again."""

    reason: str

    def __post_init__(self) -> None:
        _must_be("Discard's reason", self.reason, str)


Outcome: TypeAlias = Succeeded | Retry | Snooze | Discard


def _must_be(what: str, given: object, kind: type) -> None:
    """Refuse it where its author stands: further on it would stop the whole batch."""
    if not isinstance(given, kind):
        raise TypeError(f"{what} must be a {kind.__name__}, not {given!r:.100}")


class Stored(Struct, frozen=True):
    """The work is done, and its result stands elsewhere because it is large."""

    pointer: Pointer


class Raised(Struct, frozen=True):
    """The worker raised instead of answering."""

    error_class: str
    message: str
    is_hopeless: bool = False
    """True for an error that its author told to discard at once."""
    stack: str | None = None


class GivenBack(Struct, frozen=True):
    """The process had to end before the attempt did: the next turn begins at once."""


class TimedOut(Struct, frozen=True):
    """The attempt ran past its deadline and was cut off."""

    limit: timedelta


class Misfit(Struct, frozen=True):
    """The payload does not fit what the worker expects."""

    message: str


class Poisoned(Struct, frozen=True):
    """The platform died under the task too often."""

    losses: int


class Cancelled(Struct, frozen=True):
    """Somebody cancelled the task while it ran."""


class UnknownType(Struct, frozen=True):
    """No deployed worker takes tasks of this type."""

    name: str


class Expired(Struct, frozen=True):
    """It came too late to its first start."""

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
    """Return *result* as JSON, or say why it cannot be kept."""
    try:
        plain = msgspec.to_builtins(result, str_keys=True, enc_hook=_opened)
        encoded = msgspec.json.encode(result)
    except (TypeError, ValueError, RecursionError, AttributeError) as error:
        raise ValueError(f"the result is not JSON: {error}") from error
    _check(plain)
    if b"\\u0000" in encoded and _NUL.search(encoded):  # the first look is fifty times faster
        raise ValueError("the result holds a NUL character, which the ledger cannot keep")
    if len(encoded) > limit:
        raise ValueError(
            f"the result has {len(encoded)} bytes; the limit is {RESULT_LIMIT} on the way,"
            f" {POINTED_BYTES} in the bucket"
        )
    return Raw(encoded)


def _opened(value: Any) -> Any:
    """Read JSON that the worker wrote itself, which goes out as it is."""
    if isinstance(value, Raw):
        return msgspec.json.decode(value)
    raise TypeError(f"it holds a {type(value).__name__}")


def _check(plain: Any) -> None:
    """Refuse what is nested too deep, and floats without a JSON form: msgspec would write null."""
    level, levels = [plain], 0
    while level:
        if any(isinstance(value, float) and not isfinite(value) for value in level):
            raise ValueError("the result holds NaN or Infinity, which JSON cannot say")
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
"""The escape of a NUL, and not of a backslash before "u0000"."""
