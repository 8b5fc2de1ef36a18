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
_Wanted: TypeAlias = Future[Sequence[str]]


class TooManyHang(OSError):
    """Too many lookups hang for another one to start."""


def look_up(host: str) -> Sequence[str]:
    """Ask the system for a host's addresses."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class _Line(Struct):
    """The threads that look up one host, and the callers that wait for one of them."""

    threads: int = 0
    waiting: deque[_Wanted] = field(default_factory=deque)


class Resolver:
    def __init__(self, look_up: LookUp = look_up, *, most: int = MOST) -> None:
        self._look_up = look_up
        self._most = most
        self._lock = Lock()
        self._lines: dict[str, _Line] = {}
        self._threads = 0

    async def __call__(self, host: str) -> Sequence[str]:
        wanted: _Wanted = Future()
        self._ask(host, wanted)
        return await asyncio.wrap_future(wanted)

    def _ask(self, host: str, wanted: _Wanted) -> None:
        with self._lock:
            line = self._lines.get(host) or _Line()
            if line.threads < MOST_FOR_ONE_HOST and self._threads < self._most:
                Thread(target=self._work, args=(host, line), daemon=True).start()
                line.threads += 1
                self._threads += 1
            elif line.threads == 0:
                raise TooManyHang("too many other names hang")
            line.waiting.append(wanted)
            self._lines[host] = line

    def _work(self, host: str, line: _Line) -> None:
        while (wanted := self._next(host, line)) is not None:
            if wanted.set_running_or_notify_cancel():  # otherwise the caller has left
                self._answer(host, wanted)

    def _next(self, host: str, line: _Line) -> _Wanted | None:
        with self._lock:
            if line.waiting:
                return line.waiting.popleft()
            line.threads -= 1
            self._threads -= 1
            if line.threads == 0:
                del self._lines[host]
            return None

    def _answer(self, host: str, wanted: _Wanted) -> None:
        try:
            found = self._look_up(host)
        except (OSError, UnicodeError) as error:
            wanted.set_exception(error)
        else:
            wanted.set_result(found)
