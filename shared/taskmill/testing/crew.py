"""A crew that performs where it is started, by a clock that only the calls themselves move."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from datetime import timedelta
from itertools import count

from taskmill.execution.context import Perform, Task
from taskmill.execution.outcome import End
from taskmill.execution.ports import Ended, Performed
from taskmill.testing.clock import MovableClock


class PatientCrew:
    """A call that moved the clock past its deadline has not ended: it is cut off."""

    def __init__(self, clock: MovableClock) -> None:
        self._clock = clock
        self._tickets = count(1)
        self._ends: list[Ended] = []
        self._is_late = False

    def start(self, call: Callable[[], Performed]) -> int:
        ticket = next(self._tickets)
        self._is_late = False
        end = awaited(call())
        if not self._is_late:
            self._ends.append(Ended(ticket, end))
        return ticket

    def in_time(self, perform: Perform) -> Perform:
        """Return *perform* with an eye on the clock."""

        def watched(task: Task) -> End:
            end = awaited(perform(task))
            self._is_late = self._clock.now >= task.deadline
            return end

        return watched

    def ended(self, *, within: timedelta) -> Sequence[Ended]:
        ends, self._ends = self._ends, []
        if not ends:
            self._clock.move(within)
        return ends

    def abandon(self, ticket: int) -> None:
        self._ends = [one for one in self._ends if one.ticket != ticket]

    def strays(self, *, within: timedelta) -> int:  # noqa: ARG002 - nothing runs on
        return 0


def awaited(performed: Performed) -> End:
    return asyncio.run(performed) if isinstance(performed, Coroutine) else performed
