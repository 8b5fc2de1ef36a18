"""An executor that runs calls as tasks of one event loop in its own thread."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from datetime import timedelta
from functools import partial
from itertools import count
from queue import SimpleQueue
from threading import Condition, Thread

from taskmill.execution.ports import Ended, Performed
from taskmill.platform.executor import gathered


class LoopExecutor:
    """Abandoned calls are cancelled; one that blocks the loop or does not end is a stray."""

    def __init__(self) -> None:
        self._ends: SimpleQueue[Ended | None] = SimpleQueue()
        self._tickets = count(1)
        self._under_way: dict[int, asyncio.Task[None]] = {}
        self._abandoned: set[int] = set()
        self._changed = Condition()
        self._loop = asyncio.new_event_loop()
        Thread(target=self._loop.run_forever, daemon=True).start()

    def start(self, call: Callable[[], Performed]) -> int:
        ticket = next(self._tickets)
        self._loop.call_soon_threadsafe(self._begin, ticket, call)
        return ticket

    def ended(self, *, within: timedelta) -> Sequence[Ended]:
        """Return ended calls; wait for the first, but no longer than *within*."""
        return gathered(self._ends, within)

    def nudge(self) -> None:
        self._ends.put(None)

    def abandon(self, ticket: int) -> None:
        """Abandon a call: its end, if it ever comes, is not reported."""
        with self._changed:
            self._abandoned.add(ticket)
        self._loop.call_soon_threadsafe(self._cancel, ticket)

    def strays(self, *, within: timedelta) -> int:
        with self._changed:
            self._changed.wait_for(lambda: not self._abandoned, within.total_seconds())
            return len(self._abandoned)

    def _begin(self, ticket: int, call: Callable[[], Performed]) -> None:
        task = self._loop.create_task(self._perform(ticket, call))
        self._under_way[ticket] = task
        task.add_done_callback(partial(self._forget, ticket))

    async def _perform(self, ticket: int, call: Callable[[], Performed]) -> None:
        if ticket in self._abandoned:
            return
        performed = call()
        end = await performed if isinstance(performed, Coroutine) else performed
        with self._changed:
            if ticket not in self._abandoned:
                self._ends.put(Ended(ticket, end))

    def _cancel(self, ticket: int) -> None:
        task = self._under_way.get(ticket)
        if task is None:
            self._forget(ticket)
        else:
            task.cancel()

    def _forget(self, ticket: int, _task: object = None) -> None:
        self._under_way.pop(ticket, None)
        with self._changed:
            self._abandoned.discard(ticket)
            self._changed.notify_all()
