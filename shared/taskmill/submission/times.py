"""Reads when a task is to begin, and until when it must have begun."""

import math
import re
from datetime import UTC, datetime, timedelta

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from taskmill.core.refusal import Refusal, invalid
from taskmill.core.task import Millis, Timing
from taskmill.core.time import in_ms
from taskmill.core.timing import LONGEST_DELAY

_LATEST_END = 2 * LONGEST_DELAY
_MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def read_timing(
    delay_seconds: float | UnsetType,
    run_at: str | UnsetType,
    expires_at: str | UnsetType,
    *,
    now: Millis,
) -> Timing | Refusal | None:
    """Return the times that a request asks for; a delay stays one until Redis resolves it.

    Whether a moment is past is not asked: the same request must stay the same when it is repeated.
    """
    if delay_seconds is UNSET and run_at is UNSET and expires_at is UNSET:
        return None  # as of most tasks
    begin = read_begin(delay_seconds, run_at, now=now)
    if isinstance(begin, Refusal):
        return begin
    end = _instant("expires_at", expires_at, now=now, within=_LATEST_END)
    if end is None or isinstance(end, Refusal):
        return begin if end is None else end
    if begin is not None and begin.run_at_ms is not None and begin.run_at_ms >= end:
        detail = "`expires_at` must be later than `run_at`"
        return invalid("invalid_request", detail, "/expires_at")
    return replace(begin or Timing(), expires_at_ms=end)


def begins_too_late(timing: Timing | None, *, now: Millis) -> Refusal | None:
    """Return what is wrong with a delay beyond `expires_at`, which holds of this moment alone."""
    if timing is None or timing.delay_ms is None or timing.expires_at_ms is None:
        return None
    if now + timing.delay_ms < timing.expires_at_ms:
        return None
    detail = "`expires_at` must be later than the end of the delay"
    return invalid("invalid_request", detail, "/expires_at")


def read_begin(
    delay_seconds: float | UnsetType, run_at: str | UnsetType, *, now: Millis
) -> Timing | Refusal | None:
    if delay_seconds is UNSET:
        at_ms = _instant("run_at", run_at, now=now, within=LONGEST_DELAY)
        if at_ms is None or isinstance(at_ms, Refusal):
            return at_ms
        return Timing(run_at_ms=at_ms)
    if run_at is not UNSET:
        detail = "give either delay_seconds or run_at, not both"
        return invalid("invalid_request", detail, "/delay_seconds")
    return Timing(delay_ms=math.ceil(delay_seconds * 1000))


def _instant(
    name: str, given: str | UnsetType, *, now: Millis, within: timedelta
) -> Millis | Refusal | None:
    if given is UNSET:
        return None
    try:
        at = datetime.fromisoformat(given.upper()) if _MOMENT.fullmatch(given) else None
    except ValueError:
        at = None
    if at is None:
        detail = f"{name} is a time with its zone, such as 2026-01-31T12:00:00Z; not {given!r}"
        return invalid("invalid_request", detail, f"/{name}")
    at_ms = -((_EPOCH - at) // _MILLISECOND)
    if at_ms - now > in_ms(within):
        detail = f"{name} may lie at most {within.days} days ahead"
        return invalid("invalid_request", detail, f"/{name}")
    return Millis(max(at_ms, 0))
