"""What ledger and hot state are compared by, and mended with."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from taskmill.domain.reconciliation import RepairAnswer, RepairOrder, Standing
from taskmill.domain.task import Millis, TaskId


class Standings(Protocol):
    """How far tasks are, by the ledger; what is unfinished for long stands apart."""

    def advance(self) -> Iterable[Sequence[Standing]]: ...

    def young(self, *, since_ms: Millis) -> Iterable[Sequence[Standing]]: ...

    def unfinished(self, *, after: TaskId | None, most: int) -> Sequence[Standing]: ...

    def of(self, ids: Sequence[TaskId]) -> Sequence[Standing]: ...

    def leave(self, ids: Sequence[TaskId]) -> None: ...


class Repairs(Protocol):
    """Raises records to what the ledger knows, each only when it is still as it was seen."""

    def repair(self, orders: Sequence[RepairOrder]) -> Sequence[RepairAnswer]: ...
