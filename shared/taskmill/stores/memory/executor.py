"""Executes calls at once, where they are started."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from datetime import timedelta
from itertools import count

from taskmill.execution.ports import Ended, Performed


class InlineCrew:
    def __init__(self) -> None:
        self._ends: dict[int, Ended] = {}
        self._tickets = count(1)

    def start(self, call: Callable[[], Performed]) -> int:
        ticket = next(self._tickets)
        performed = call()
        end = asyncio.run(performed) if isinstance(performed, Coroutine) else performed
        self._ends[ticket] = Ended(ticket, end)
        return ticket

    def ended(self, *, within: timedelta) -> Sequence[Ended]:  # noqa: ARG002 - it never waits
        ends, self._ends = list(self._ends.values()), {}
        return ends

    def abandon(self, ticket: int) -> None:
        self._ends.pop(ticket, None)

    def strays(self, *, within: timedelta) -> int:  # noqa: ARG002 - what ended runs no more
        return 0


class InlineErrands:
    def start(self, _name: str, errand: Callable[[], int]) -> Future[int]:
        outcome: Future[int] = Future()
        try:
            outcome.set_result(errand())
        except Exception as error:  # noqa: BLE001 - it is raised where the outcome is asked for
            outcome.set_exception(error)
        return outcome
