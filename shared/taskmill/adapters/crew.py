"""Those who perform side by side: plain threads."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from itertools import count
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import TypeAlias

from taskmill.domain.outcome import End
from taskmill.ports import Ended

_Call: TypeAlias = tuple[int, Callable[[], End]]


class ThreadCrew:
    """Grows a thread whenever nobody is idle; an abandoned one ends with its call.

    The standard pool joins its threads at exit and cannot let go of one: a call past its deadline
    would hold the process.
    """

    def __init__(self) -> None:
        self._calls: SimpleQueue[_Call] = SimpleQueue()
        self._ends: SimpleQueue[Ended] = SimpleQueue()
        self._lock = Lock()
        self._tickets = count(1)
        self._idle = 0
        self._abandoned: set[int] = set()

    def start(self, call: Callable[[], End]) -> int:
        with self._lock:
            ticket = next(self._tickets)
            needs_thread = self._idle == 0
            self._idle -= not needs_thread
        if needs_thread:
            Thread(target=self._work, args=((ticket, call),), daemon=True).start()
        else:
            self._calls.put((ticket, call))
        return ticket

    def ended(self, *, within: timedelta) -> Sequence[Ended]:
        """Return what has ended; wait for the first, but no longer than *within*."""
        ends: list[Ended] = []
        try:
            ends.append(self._ends.get(timeout=max(within.total_seconds(), 0)))
            while True:
                ends.append(self._ends.get_nowait())
        except Empty:
            return ends

    def abandon(self, ticket: int) -> None:
        """Let go of a call: its end, if it ever comes, is not reported."""
        with self._lock:
            self._abandoned.add(ticket)

    def _work(self, first: _Call) -> None:
        ticket, call = first
        while True:
            end = call()
            with self._lock:
                if ticket in self._abandoned:
                    self._abandoned.discard(ticket)
                    return
                self._idle += 1
                self._ends.put(Ended(ticket, end))
            ticket, call = self._calls.get()
