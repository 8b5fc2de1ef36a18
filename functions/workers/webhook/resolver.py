"""Looks up names in dedicated threads, few for each host, so that hanging ones block no others.

The system call cannot be interrupted: its thread goes on after nobody waits for it. In asyncio's
pool, a handful of such threads would block the lookups of every other webhook.
"""

import asyncio
import socket
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from threading import Lock, Thread
from typing import Final, TypeAlias

from msgspec import Struct, field

MOST_FOR_ONE_HOST: Final = 8
MOST: Final = 300
"""A Lambda process may have 1,024 threads."""

LookUp: TypeAlias = Callable[[str], Sequence[str]]
_Future: TypeAlias = Future[Sequence[str]]


class TooManyHang(OSError):
    """Too many lookups hang for another one to start."""


def look_up(host: str) -> Sequence[str]:
    """Ask the system for a host's addresses."""
    rows = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in rows))


class _Line(Struct):
    """The threads that look up one host, and the callers that wait for one of them."""

    threads: int = 0
    waiting: deque[_Future] = field(default_factory=deque)


class Resolver:
    def __init__(self, look_up: LookUp = look_up, *, most: int = MOST) -> None:
        self._look_up = look_up
        self._most = most
        self._lock = Lock()
        self._lines: dict[str, _Line] = {}
        self._threads = 0

    async def __call__(self, host: str) -> Sequence[str]:
        future: _Future = Future()
        self._ask(host, future)
        return await asyncio.wrap_future(future)

    def _ask(self, host: str, future: _Future) -> None:
        with self._lock:
            line = self._lines.get(host) or _Line()
            if line.threads < MOST_FOR_ONE_HOST and self._threads < self._most:
                Thread(target=self._work, args=(host, line), daemon=True).start()
                line.threads += 1
                self._threads += 1
            elif line.threads == 0:
                raise TooManyHang("too many other names hang")
            line.waiting.append(future)
            self._lines[host] = line

    def _work(self, host: str, line: _Line) -> None:
        while (future := self._next(host, line)) is not None:
            if future.set_running_or_notify_cancel():  # otherwise the caller has left
                self._answer(host, future)

    def _next(self, host: str, line: _Line) -> _Future | None:
        with self._lock:
            if line.waiting:
                return line.waiting.popleft()
            line.threads -= 1
            self._threads -= 1
            if line.threads == 0:
                del self._lines[host]
            return None

    def _answer(self, host: str, future: _Future) -> None:
        try:
            addresses = self._look_up(host)
        except (OSError, UnicodeError) as error:
            future.set_exception(error)
        else:
            future.set_result(addresses)
