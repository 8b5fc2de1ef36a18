"""Waits for conditions, with a deadline and a reason, instead of sleeping."""

import asyncio
import time
from collections.abc import Awaitable, Callable

_GLANCE_SECONDS = 0.02
_LONGEST_REST_SECONDS = 0.25


def eventually(condition: Callable[[], object], *, within: float, reason: str) -> None:
    """Poll; after an expensive check, rest for as long as it took."""
    began = time.monotonic()
    deadline = began + within
    while not condition():
        now = time.monotonic()
        assert now < deadline, f"not within {within} s: {reason}"
        time.sleep(min(max(now - began, _GLANCE_SECONDS), _LONGEST_REST_SECONDS))
        began = time.monotonic()


async def eventually_async(
    condition: Callable[[], Awaitable[object] | object], *, within: float, reason: str
) -> None:
    """Wait like `eventually`, for a plain or an async condition, while the loop runs."""
    deadline = time.monotonic() + within
    while True:
        met = condition()
        if isinstance(met, Awaitable):
            met = await met
        if met:
            return
        assert time.monotonic() < deadline, f"not within {within} s: {reason}"
        await asyncio.sleep(_GLANCE_SECONDS)
