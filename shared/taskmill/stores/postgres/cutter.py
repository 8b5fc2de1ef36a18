"""Cuts connections to hanging servers, with one thread for all of them that mostly sleeps."""

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from math import inf
from threading import Condition, Thread
from typing import Any

import psycopg


class Cutter:
    """A timer per statement would be a thread per statement, which costs more than the statement.

    The thread wakes at what was the next deadline when it last looked, and usually finds the work
    done.
    """

    def __init__(self) -> None:
        self._changed = Condition()
        self._due: dict[object, tuple[float, psycopg.Connection[Any]]] = {}
        self._looks_at = inf
        self._thread: Thread | None = None

    @contextmanager
    def cut_after(self, span: timedelta, connection: psycopg.Connection[Any]) -> Iterator[None]:
        """Close the connection if the server has not finished in time."""
        mark, due = object(), time.monotonic() + span.total_seconds()
        with self._changed:
            self._due[mark] = due, connection
            if self._thread is None:
                self._thread = Thread(target=self._watch, name="cutter", daemon=True)
                self._thread.start()
            elif due < self._looks_at:
                self._changed.notify()
        try:
            yield
        finally:
            with self._changed:
                self._due.pop(mark, None)

    def _watch(self) -> None:
        with self._changed:
            while True:
                now = time.monotonic()
                for mark, (due, connection) in list(self._due.items()):
                    if due <= now:
                        del self._due[mark]
                        _hang_up(connection)
                self._looks_at = min((due for due, _ in self._due.values()), default=inf)
                self._changed.wait(None if self._looks_at == inf else self._looks_at - now)


def _hang_up(connection: psycopg.Connection[Any]) -> None:
    with (
        suppress(psycopg.Error, OSError),
        socket.socket(fileno=os.dup(connection.fileno())) as line,
    ):
        line.shutdown(socket.SHUT_RDWR)
