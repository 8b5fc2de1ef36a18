"""An executor that performs calls where they are started, by a clock that only they move."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from datetime import timedelta

from taskmill.core.ports import Pause
from taskmill.execution.context import Perform, Task
from taskmill.execution.outcome import End
from taskmill.execution.ports import Ended, Performed
from taskmill.stores.memory.process import InlineExecutor
from taskmill.testing.clock import MovableClock


class PatientExecutor(InlineExecutor):
    """A call that moved the clock past its deadline has not ended: it is stopped.

    Where threads would wait for an end, *pause* lets time pass.
    """

    def __init__(self, clock: MovableClock, *, pause: Pause | None = None) -> None:
        super().__init__()
        self._clock = clock
        self._pause = pause or clock.move
        self._is_late = False

    def start(self, call: Callable[[], Performed]) -> int:
        self._is_late = False
        ticket = super().start(call)
        if self._is_late:
            self.abandon(ticket)
        return ticket

    def in_time(self, perform: Perform) -> Perform:
        """Return *perform* with a check of the clock."""

        def watched(task: Task) -> End:
            end = awaited(perform(task))
            self._is_late = self._clock.now >= task.deadline
            return end

        return watched

    def ended(self, *, within: timedelta) -> Sequence[Ended]:
        ends = super().ended(within=within)
        if not ends:
            self._pause(within)
        return ends


def awaited(performed: Performed) -> End:
    return asyncio.run(performed) if isinstance(performed, Coroutine) else performed
