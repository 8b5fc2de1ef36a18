"""One timer for the many deadlines of a connection."""

import asyncio
from collections.abc import Callable
from datetime import timedelta


class Deadline:
    """Moving the deadline later costs nothing: the timer checks it when it fires."""

    def __init__(self, expire: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._expire = expire
        self._at: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    def grant(self, time: timedelta, *, until: float | None = None) -> None:
        """Expire after ``time``, but not later than ``until`` on the loop's clock."""
        at = self._loop.time() + time.total_seconds()
        self._at = at if until is None else min(at, until)
        if self._timer is not None and self._timer.when() > self._at:
            self._timer.cancel()
            self._timer = None
        if self._timer is None:
            self._timer = self._loop.call_at(self._at, self._look)

    def lift(self) -> None:
        self._at = None

    def close(self) -> None:
        self._at = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self._timer = None
        if self._at is None:
            return
        if self._at > self._loop.time():
            self._timer = self._loop.call_at(self._at, self._look)
        else:
            self._at = None
            self._expire()
