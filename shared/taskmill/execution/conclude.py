"""Turns the end of an attempt into the fact that ends its turn."""

from datetime import timedelta
from typing import Any, assert_never

from msgspec import Raw, Struct
from msgspec.structs import replace

from taskmill.core.backoff import LONGEST_WAIT, delay_after
from taskmill.core.facts import (
    SNOOZED,
    TaskCancelled,
    TaskDeferred,
    TaskDied,
    TaskSucceeded,
    TurnEnd,
)
from taskmill.core.redaction import redacted
from taskmill.core.task import Millis
from taskmill.core.text import ERROR_TEXT_LIMIT, STACK_LIMIT, clip, clip_start
from taskmill.core.time import EXPIRED, EXPIRED_CLASS, in_ms, why_expired
from taskmill.execution.outcome import (
    Attempt,
    Cancelled,
    Discard,
    End,
    Expired,
    GivenBack,
    Misfit,
    Poisoned,
    Raised,
    Retry,
    Snooze,
    Stored,
    Succeeded,
    TimedOut,
    UnknownType,
    encode_result,
)

STOPPED = "stopped"
"""The reason of a turn that was given back: neither a failure nor a loss."""

NO_RESULT = Raw(b"null")

_SEARCHED_FOR_SECRETS = 4 * ERROR_TEXT_LIMIT
"""Text beyond this is cut off anyway and need not be searched."""


def conclude(attempt: Attempt, end: End, *, now: Millis, chance: float) -> TurnEnd:
    """Return the fact that the rest of the system sees.

    *chance* (0 to 1) spreads the retries of tasks that failed together.
    """
    match end:
        case Succeeded(result):
            return _succeeded(attempt, result, now)
        case Stored(pointer):
            return TaskSucceeded(**_common(attempt, now), result=NO_RESULT, result_ref=pointer)
        case Cancelled():
            return TaskCancelled(**_common(attempt, now))
        case Snooze(delay):
            return _deferred(attempt, now, _failure_of(end), delay, attempt.envelope.attempt)
        case GivenBack():
            return _deferred(attempt, now, _SHUTDOWN, timedelta(), attempt.envelope.attempt)
        case Retry(delay=delay):
            wait = _usual_wait(attempt, chance) if delay is None else delay
            return _failed(attempt, now, _failure_of(end), wait)
        case Raised(is_hopeless=False) | TimedOut():
            return _failed(attempt, now, _failure_of(end), _usual_wait(attempt, chance))
        case Discard() | Raised() | Misfit() | Poisoned() | UnknownType():
            return _died(attempt, now, _failure_of(end))
        case Expired():
            return replace(_died(attempt, now, _failure_of(end)), started_at_ms=None)
        case _:
            assert_never(end)


class _Failure(Struct, frozen=True):
    reason: str
    error_class: str
    message: str
    stack: str | None = None

    def as_fields(self) -> dict[str, Any]:
        message = redacted(self.message[:_SEARCHED_FOR_SECRETS])
        return {
            "reason": self.reason,
            "error_class": clip(self.error_class, 255),
            "error_message": clip(message, ERROR_TEXT_LIMIT),
            "stack": self._kept_stack(),
        }

    def _kept_stack(self) -> str | None:
        """Return the end of the stack, which is closest to the error."""
        if self.stack is None:
            return None
        return clip_start(redacted(self.stack), STACK_LIMIT)


_SHUTDOWN = _Failure(
    STOPPED, "Stopped", "its process had to end during the attempt, which is repeated at once"
)


def _failure_of(
    end: Retry | Snooze | Discard | Raised | TimedOut | Misfit | Poisoned | UnknownType | Expired,
) -> _Failure:
    match end:
        case Retry(reason=reason):
            return _Failure("failed", "Retry", reason)
        case Snooze(_, reason):
            return _Failure(SNOOZED, "Snooze", reason)
        case Discard(reason):
            return _Failure("discarded", "Discard", reason)
        case Raised(error_class, message, is_hopeless, stack):
            return _Failure("discarded" if is_hopeless else "failed", error_class, message, stack)
        case TimedOut(limit):
            sentence = f"the attempt was stopped at its time limit of {limit.total_seconds():g} s"
            return _Failure("timeout", "TimedOut", sentence)
        case Misfit(message):
            return _Failure("invalid_payload", "Misfit", message)
        case Poisoned(losses):
            return _Failure("poison", "Poisoned", _why_poisoned(losses))
        case UnknownType(name):
            return _Failure("unknown_type", "UnknownType", f"no worker is deployed for {name!r}")
        case Expired(at_ms):
            return _Failure(EXPIRED, EXPIRED_CLASS, why_expired(at_ms))
        case _:
            assert_never(end)


def _why_poisoned(losses: int) -> str:
    return (
        f"its process ended {losses} times during the task: it exited, was killed, or ran"
        " out of memory or time; the function's log says which, with the exit status or signal"
    )


def _usual_wait(attempt: Attempt, chance: float) -> timedelta:
    return delay_after(attempt.envelope.attempt, attempt.envelope.retry, chance=chance)


def _failed(
    attempt: Attempt, now: Millis, failure: _Failure, wait: timedelta
) -> TaskDeferred | TaskDied:
    envelope = attempt.envelope
    if envelope.attempt >= envelope.max_attempts:
        return _died(attempt, now, failure)
    return _deferred(attempt, now, failure, wait, envelope.attempt + 1)


def _deferred(
    attempt: Attempt, now: Millis, failure: _Failure, wait: timedelta, next_attempt: int
) -> TaskDeferred:
    wait = min(max(wait, timedelta()), LONGEST_WAIT)
    return TaskDeferred(
        **_common(attempt, now),
        **failure.as_fields(),
        due_at_ms=Millis(now + in_ms(wait)),
        next_attempt=next_attempt,
    )


def _died(attempt: Attempt, now: Millis, failure: _Failure) -> TaskDied:
    return TaskDied(**_common(attempt, now), **failure.as_fields())


def _succeeded(attempt: Attempt, result: Any, now: Millis) -> TaskSucceeded | TaskDied:
    try:
        encoded = encode_result(result)
    except ValueError as error:
        return _died(attempt, now, _Failure("result_invalid", "ResultInvalid", str(error)))
    envelope = attempt.envelope
    return TaskSucceeded(  # the fact of most tasks: field by field takes a quarter of the time
        id=envelope.id,
        generation=envelope.generation,
        turn=envelope.turn,
        type=envelope.type,
        tenant=envelope.tenant,
        attempt=envelope.attempt,
        token=attempt.token,
        losses=attempt.losses,
        started_at_ms=attempt.started_at_ms,
        at_ms=now,
        result=encoded,
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
