"""What a worker answers, and the fact that the answer becomes."""

import re
from dataclasses import dataclass
from datetime import timedelta
from math import isfinite
from typing import Any, TypeAlias, assert_never

import msgspec
from msgspec import Raw

from taskmill.domain.facts import TaskDied, TaskSucceeded
from taskmill.domain.task import Envelope, Millis

RESULT_LIMIT = 65_536
ERROR_TEXT_LIMIT = 4_096


@dataclass(frozen=True, slots=True)
class Succeeded:
    """The work is done; *result* is kept for the one who asked."""

    result: Any = None


@dataclass(frozen=True, slots=True)
class Retry:
    """It did not work this time."""

    reason: str


@dataclass(frozen=True, slots=True)
class Discard:
    """It will never work; do not try again."""

    reason: str


Outcome: TypeAlias = Succeeded | Retry | Discard


@dataclass(frozen=True, slots=True)
class Raised:
    """The worker raised instead of answering."""

    error_class: str
    message: str


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The attempt ran past its deadline and was cut off."""

    limit: timedelta


@dataclass(frozen=True, slots=True)
class Misfit:
    """The payload does not fit what the worker expects."""

    message: str


@dataclass(frozen=True, slots=True)
class Poisoned:
    """The platform died under the task too often."""

    losses: int


@dataclass(frozen=True, slots=True)
class UnknownType:
    """No deployed worker takes tasks of this type."""

    name: str


End: TypeAlias = Succeeded | Retry | Discard | Raised | TimedOut | Misfit | Poisoned | UnknownType


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One claimed turn of a task, from its claim to its end."""

    envelope: Envelope
    token: int
    losses: int
    started_at_ms: Millis


def conclude(attempt: Attempt, end: End, *, now: Millis) -> TaskSucceeded | TaskDied:
    """Turn the end of an attempt into the fact that the rest of the system sees."""
    match end:
        case Succeeded(result):
            return _succeeded(attempt, result, now)
        case Retry(reason):
            return _died(attempt, now, "failed", "Retry", reason)
        case Discard(reason):
            return _died(attempt, now, "discarded", "Discard", reason)
        case Raised(error_class, message):
            return _died(attempt, now, "failed", error_class, message)
        case TimedOut(limit):
            limit_text = f"the attempt was cut off after {limit.total_seconds():g} s"
            return _died(attempt, now, "timeout", "TimedOut", limit_text)
        case Misfit(message):
            return _died(attempt, now, "invalid_payload", "Misfit", message)
        case Poisoned(losses):
            lost_text = f"the platform died under it {losses} times"
            return _died(attempt, now, "poison", "Poisoned", lost_text)
        case UnknownType(name):
            return _died(attempt, now, "unknown_type", "UnknownType", f"no worker takes {name!r}")
        case _:
            assert_never(end)


def _succeeded(attempt: Attempt, result: Any, now: Millis) -> TaskSucceeded | TaskDied:
    try:
        encoded = encode_result(result)
    except ValueError as error:
        return _died(attempt, now, "result_invalid", "ResultInvalid", str(error))
    return TaskSucceeded(**_common(attempt, now), result=encoded)


def _died(attempt: Attempt, now: Millis, reason: str, error_class: str, message: str) -> TaskDied:
    return TaskDied(
        **_common(attempt, now),
        reason=reason,
        error_class=clip(error_class, 255),
        error_message=clip(message, ERROR_TEXT_LIMIT),
    )


def _common(attempt: Attempt, now: Millis) -> dict[str, Any]:
    envelope = attempt.envelope
    return {
        "id": envelope.id,
        "generation": envelope.generation,
        "turn": envelope.turn,
        "type": envelope.type,
        "tenant": envelope.tenant,
        "attempt": envelope.attempt,
        "token": attempt.token,
        "losses": attempt.losses,
        "started_at_ms": attempt.started_at_ms,
        "at_ms": now,
    }


def encode_result(result: Any) -> Raw:
    """Return *result* as JSON, or say why it cannot be kept."""
    try:
        plain = msgspec.to_builtins(result, str_keys=True, enc_hook=_opened)
        encoded = msgspec.json.encode(result)
    except (TypeError, ValueError, RecursionError, AttributeError) as error:
        raise ValueError(f"the result is not JSON: {error}") from error
    if _holds_no_number(plain):
        raise ValueError("the result holds NaN or Infinity, which JSON cannot say")
    if len(encoded) > RESULT_LIMIT:
        raise ValueError(f"the result has {len(encoded)} bytes; the limit is {RESULT_LIMIT}")
    if b"\\u0000" in encoded and _NUL.search(encoded):  # the first look is fifty times faster
        raise ValueError("the result holds a NUL character, which the ledger cannot keep")
    return Raw(encoded)


def _opened(value: Any) -> Any:
    """Read JSON that the worker wrote itself, which goes out as it is."""
    if isinstance(value, Raw):
        return msgspec.json.decode(value)
    raise TypeError(f"it holds a {type(value).__name__}")


def _holds_no_number(plain: Any) -> bool:
    """Say whether a float without a JSON form hides in *plain*; msgspec would write null."""
    unseen = [plain]
    while unseen:
        value = unseen.pop()
        if isinstance(value, float) and not isfinite(value):
            return True
        if isinstance(value, dict):
            unseen.extend(value.values())
        elif isinstance(value, list | tuple | set | frozenset):
            unseen.extend(value)
    return False


_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
"""The escape of a NUL, and not of a backslash before "u0000"."""


def clip(text: str, limit: int) -> str:
    """Return *text* fit for every store: no NUL, no lone surrogate, at most *limit* bytes."""
    octets = text.replace("\x00", "\ufffd").encode("utf-8", "replace")
    if len(octets) <= limit:
        return octets.decode()
    return octets[: limit - 3].decode("utf-8", "ignore") + "…"
