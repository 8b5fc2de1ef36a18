"""Keeps a platform running while something uses it, and always stops it."""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias, TypeVar

from taskmill_local.errors import StoreFailed
from taskmill_local.platform import Platform

_ENOUGH: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_Result = TypeVar("_Result")
Use: TypeAlias = Callable[[str], Awaitable[_Result]]


class Interrupted(Exception):
    """The process was asked to end, by Ctrl-C or a signal."""


async def hold(platform: Platform, use: Use[_Result]) -> _Result:
    """Start, use and stop the platform; the user gets its address."""
    work = asyncio.ensure_future(_started(platform, use))
    is_interrupted = False

    def interrupt() -> None:
        nonlocal is_interrupted
        if not is_interrupted:  # a second Ctrl-C must not interrupt the shutdown
            is_interrupted = True
            work.cancel()

    loop = asyncio.get_running_loop()
    for number in _ENOUGH:
        loop.add_signal_handler(number, interrupt)
    try:
        return await work
    except asyncio.CancelledError:
        if is_interrupted:
            raise Interrupted from None
        raise


async def _started(platform: Platform, use: Use[_Result]) -> _Result:
    try:
        url = await platform.start()
        return await _used(platform, asyncio.ensure_future(use(url)))
    finally:
        await platform.stop()


async def _used(platform: Platform, using: asyncio.Future[_Result]) -> _Result:
    breaking = asyncio.ensure_future(platform.broken())
    try:
        await asyncio.wait((using, breaking), return_when=asyncio.FIRST_COMPLETED)
        if breaking.done() and not using.done():
            raise StoreFailed(breaking.result())
        return await using
    finally:
        using.cancel()
        breaking.cancel()
