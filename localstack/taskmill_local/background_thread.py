"""Runs blocking calls in threads that never delay the end of the program."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import ParamSpec, TypeVar

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


async def in_background_thread(
    call: Callable[_Parameters, _Result],
    *arguments: _Parameters.args,
    **options: _Parameters.kwargs,
) -> _Result:
    """Await the call in its own thread, which unlike `asyncio.to_thread` never blocks the exit.

    A server that accepts a connection and then sends nothing would hold up Ctrl-C for minutes.
    """
    loop = asyncio.get_running_loop()
    result: asyncio.Future[_Result] = loop.create_future()

    def settle(outcome: Future[_Result]) -> None:
        if result.done():
            return
        if (error := outcome.exception()) is not None:
            result.set_exception(error)
        else:
            result.set_result(outcome.result())

    def run() -> None:
        outcome: Future[_Result] = Future()
        try:
            outcome.set_result(call(*arguments, **options))
        except BaseException as error:  # noqa: BLE001 - raised again when awaited
            outcome.set_exception(error)
        with suppress(RuntimeError):  # the loop is closed, and nobody waits for the result
            loop.call_soon_threadsafe(settle, outcome)

    threading.Thread(target=run, daemon=True).start()
    return await result
