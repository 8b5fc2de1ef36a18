"""Returns its payload; for tests and demos it sleeps, fails or raises on request."""

import time
from typing import Any

from functions.workers.echo.payload import Echo
from taskmill.worker import Discard, Retry, Task, serve


def perform(echo: Echo, task: Task) -> Any:
    if echo.sleep_seconds:
        time.sleep(echo.sleep_seconds)
    if task.attempt > echo.for_attempts:
        return echo
    if echo.crash is not None:
        raise RuntimeError(echo.crash)
    if echo.retry is not None:
        return Retry(echo.retry)
    if echo.discard is not None:
        return Discard(echo.discard)
    return "." * echo.answer_bytes if echo.answer_bytes else echo


lambda_handler = serve(Echo, perform, concurrency=100)
