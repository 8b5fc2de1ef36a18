"""Backoff between the attempts of a task."""

from datetime import timedelta
from typing import Annotated

from msgspec import Meta, Struct

LONGEST_WAIT = timedelta(days=1)

Seconds = Annotated[float, Meta(ge=0, le=86_400)]
Factor = Annotated[float, Meta(ge=1, le=100)]


class RetryPolicy(Struct, frozen=True, kw_only=True):
    """The first wait grows by the factor with each attempt, up to the cap."""

    first_seconds: Seconds = 1.0
    factor: Factor = 2.0
    cap_seconds: Seconds = 300.0


DEFAULT_RETRY = RetryPolicy()


def delay_after(attempt: int, policy: RetryPolicy, *, chance: float) -> timedelta:
    """Return the wait after *attempt* failed: half of it fixed, half by *chance* (0 to 1)."""
    steps = min(max(attempt - 1, 0), 100)  # the cap is long reached by then
    whole = min(policy.first_seconds * policy.factor**steps, policy.cap_seconds)
    return timedelta(seconds=whole / 2 + whole / 2 * chance)
