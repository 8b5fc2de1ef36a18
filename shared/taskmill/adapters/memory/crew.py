"""A crew that performs each call at once, inline, where it is started."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from itertools import count

from taskmill.domain.outcome import End
from taskmill.ports import Ended


class InlineCrew:
    def __init__(self) -> None:
        self._ends: dict[int, Ended] = {}
        self._tickets = count(1)

    def start(self, call: Callable[[], End]) -> int:
        ticket = next(self._tickets)
        self._ends[ticket] = Ended(ticket, call())
        return ticket

    def ended(self, *, within: timedelta) -> Sequence[Ended]:  # noqa: ARG002 - it never waits
        ends, self._ends = list(self._ends.values()), {}
        return ends

    def abandon(self, ticket: int) -> None:
        self._ends.pop(ticket, None)
