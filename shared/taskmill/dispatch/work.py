"""Runs the tasks in a worker's topic, but none of another type."""

from collections.abc import Sequence
from typing import Protocol

from taskmill.core.log import LogRecord, Position
from taskmill.core.ports import Bus
from taskmill.dispatch.delay import park
from taskmill.dispatch.ports import Parking
from taskmill.execution.claim import RawArrival, open_own_arrivals
from taskmill.execution.context import Perform, RunContext
from taskmill.execution.execute import execute


class ExecutionStores(Protocol):
    """Ports that a worker needs in addition to those of its run context."""

    @property
    def bus(self) -> Bus: ...

    @property
    def parking(self) -> Parking: ...


class Execution:
    """A worker's work on a batch of its topic."""

    def __init__(self, stores: ExecutionStores) -> None:
        self._stores = stores

    def run(
        self, records: Sequence[LogRecord], perform: Perform, run_context: RunContext
    ) -> set[Position]:
        """Run each task to its end; return the positions to retry."""
        own, astray = open_own_arrivals(records, self._stores.bus)
        return self._send_back(astray) | execute(own, perform, run_context)

    def _send_back(self, astray: Sequence[RawArrival]) -> set[Position]:
        """Send tasks of another type back to the dispatcher.

        Those that can no longer wait have moved on: the dispatcher sends none of them here again.
        """
        return park(astray, self._stores.parking).failed if astray else set()
