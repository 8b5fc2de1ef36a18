"""A worker's invocation: a wake-up starts it, and its tasks come from the lane."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Protocol

from msgspec.structs import replace

from taskmill.core import codec, topics
from taskmill.core.log import LogRecord, Position
from taskmill.core.ports import Bus
from taskmill.core.task import TaskType
from taskmill.dispatch.arrivals import open_arrivals
from taskmill.dispatch.delay import park
from taskmill.dispatch.ports import Parking
from taskmill.execution.context import Perform, RunContext
from taskmill.execution.execute import execute
from taskmill.lanes.enter import enter
from taskmill.lanes.lane import Entered
from taskmill.lanes.ports import Lanes
from taskmill.submission.ports import Catalogue


class ExecutionStores(Protocol):
    """Ports that a worker needs in addition to those of its run context."""

    @property
    def bus(self) -> Bus: ...

    @property
    def catalogue(self) -> Catalogue: ...

    @property
    def lanes(self) -> Lanes: ...

    @property
    def parking(self) -> Parking: ...


class Execution:
    """A worker's work after a wake-up in its topic."""

    def __init__(self, stores: ExecutionStores) -> None:
        self._stores = stores

    def run(
        self, records: Sequence[LogRecord], perform: Perform, run_context: RunContext
    ) -> set[Position]:
        """Run tasks of the topic's type; return the positions of records to retry.

        Records with tasks come from a dispatcher of the version before: they enter their lanes.
        """
        failed = self._enter([one for one in records if one.value != codec.WAKE_UP])
        for task_type, partition in _places(records):
            longest = self._longest(task_type, run_context)
            execute(task_type, perform, replace(run_context, partition=partition, longest=longest))
        return failed

    def _longest(self, task_type: TaskType, run_context: RunContext) -> timedelta:
        """Return the longest time-out of the type; tasks accepted with more are cut off at it."""
        entry = self._stores.catalogue.entry(task_type)
        if entry is None:
            return run_context.longest
        return min(run_context.longest, timedelta(seconds=entry.longest_timeout_seconds))

    def _knows(self, task_type: TaskType) -> bool:
        return self._stores.catalogue.entry(task_type) is not None

    def _enter(self, records: Sequence[LogRecord]) -> set[Position]:
        arrivals = open_arrivals(records, self._stores.bus)
        known = [one for one in arrivals if self._knows(one.envelope.type)]
        unknown = [one for one in arrivals if not self._knows(one.envelope.type)]
        answers = enter([one.raw for one in known], self._stores, past=True)
        cold = {
            one.position
            for one, answer in zip(known, answers, strict=True)
            if answer is Entered.COLD
        }
        return cold | park(unknown, self._stores.parking).failed


def _places(records: Sequence[LogRecord]) -> Sequence[tuple[TaskType, int]]:
    """Return the type, and the partition of the first record, by which its lane knows us."""
    return [
        (task_type, record.position.partition)
        for record in records[:1]
        if (task_type := topics.type_of(record.position.topic)) is not None
    ]
