"""An executor that uses plain threads."""
# ruff: noqa: PLC0415 - asyncio is slow to import, and most workers do not need it

from collections.abc import Callable, Coroutine, Sequence
from datetime import timedelta
from itertools import count
from queue import Empty, SimpleQueue
from threading import Condition, Lock, Thread
from typing import TypeAlias

from taskmill.execution.outcome import End
from taskmill.execution.ports import Ended, Performed

_Call: TypeAlias = tuple[int, Callable[[], Performed]]


class ThreadExecutor:
    """Starts a thread whenever none is idle; an abandoned one ends with its call.

    The standard pool joins its threads at exit and cannot drop one: a call past its deadline would
    block the process.
    """

    def __init__(self) -> None:
        self._calls: SimpleQueue[_Call] = SimpleQueue()
        self._ends: SimpleQueue[Ended | None] = SimpleQueue()
        self._lock = Lock()
        self._changed = Condition(self._lock)
        self._tickets = count(1)
        self._idle = 0
        self._under_way: set[int] = set()
        self._abandoned: set[int] = set()

    def start(self, call: Callable[[], Performed]) -> int:
        with self._lock:  # a condition would be entered in Python
            ticket = next(self._tickets)
            self._under_way.add(ticket)
            needs_thread = self._idle == 0
            self._idle -= not needs_thread
        if needs_thread:
            Thread(target=self._work, args=((ticket, call),), daemon=True).start()
        else:
            self._calls.put((ticket, call))
        return ticket

    def ended(self, *, within: timedelta) -> Sequence[Ended]:
        """Return ended calls; wait for the first, but no longer than *within*."""
        return gathered(self._ends, within)

    def nudge(self) -> None:
        self._ends.put(None)

    def abandon(self, ticket: int) -> None:
        """Abandon a call: its end, if it ever comes, is not reported."""
        with self._changed:
            if ticket in self._under_way:
                self._abandoned.add(ticket)

    def strays(self, *, within: timedelta) -> int:
        with self._changed:
            self._changed.wait_for(lambda: not self._abandoned, within.total_seconds())
            return len(self._abandoned)

    def _work(self, first: _Call) -> None:
        ticket, call = first
        while True:
            end = _ended(call())
            with self._lock:
                self._under_way.discard(ticket)
                if ticket in self._abandoned:
                    self._abandoned.discard(ticket)
                    self._changed.notify_all()
                    return
                self._idle += 1
                self._ends.put(Ended(ticket, end))
            ticket, call = self._calls.get()


def _ended(performed: Performed) -> End:
    if not isinstance(performed, Coroutine):
        return performed
    import asyncio

    return asyncio.run(performed)


def gathered(ends: SimpleQueue[Ended | None], within: timedelta) -> Sequence[Ended]:
    """Take everything available; wait for the first item, but no longer than *within*.

    An item may be a nudge, which only ends the wait.
    """
    endings: list[Ended | None] = []
    try:
        endings.append(ends.get(timeout=max(within.total_seconds(), 0)))
        while True:
            endings.append(ends.get_nowait())
    except Empty:
        return [one for one in endings if one is not None]
