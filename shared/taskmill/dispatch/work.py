"""Runs what stands in a worker's topic: its own tasks, and none of another type."""

from collections.abc import Sequence
from typing import Protocol

from taskmill.core.log import LogRecord, Position
from taskmill.core.ports import Bus
from taskmill.dispatch.delay import park
from taskmill.dispatch.ports import Parking
from taskmill.execution.claim import SealedArrival, open_own_arrivals
from taskmill.execution.context import Perform, Shop
from taskmill.execution.execute import execute


class ExecutionStores(Protocol):
    """The ports that a worker uses beside those of its shop."""

    @property
    def bus(self) -> Bus: ...

    @property
    def parking(self) -> Parking: ...


class Execution:
    """All that a worker does with a batch of its topic."""

    def __init__(self, stores: ExecutionStores) -> None:
        self._stores = stores

    def run(self, records: Sequence[LogRecord], perform: Perform, shop: Shop) -> set[Position]:
        """Bring each task to its end; return the positions that must come again."""
        own, astray = open_own_arrivals(records, self._stores.bus)
        return self._send_back(astray) | execute(own, perform, shop)

    def _send_back(self, astray: Sequence[SealedArrival]) -> set[Position]:
        """Let the dispatcher route tasks of another type.

        Those that cannot wait any more live on elsewhere: the dispatcher sends none of them here.
        """
        return park(astray, self._stores.parking).failed if astray else set()
