"""How far tasks are, by the ledger in memory."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta

from taskmill.core.lifetimes import WINDOW_BEHIND
from taskmill.core.ports import Clock
from taskmill.core.task import Millis, TaskId
from taskmill.core.time import in_ms
from taskmill.ledger.projection import Row
from taskmill.recovery.divergence import Standing
from taskmill.recovery.ports import Step
from taskmill.stores.memory.ledger import MemoryLedger


class MemoryStandings:
    def __init__(
        self,
        ledger: Callable[[], MemoryLedger],
        clock: Clock,
        *,
        behind: timedelta = WINDOW_BEHIND,
    ) -> None:
        self._ledger = ledger
        self._clock = clock
        self._behind = in_ms(behind)
        self._until = 0
        self._apart: set[TaskId] = set()

    @contextmanager
    def next_step(self) -> Iterator[Step | None]:
        until = self._clock() - self._behind
        if until <= self._until:
            yield None
            return
        passed = [row for row in self._rows() if self._until < _age(row) <= until]
        step = _HeldStep([_standing(row) for row in passed])
        yield step
        self._until = until
        far = self._ledger().far_tasks
        waits = {row.id for row in passed if not row.status.is_final and row.id not in far}
        self._apart |= waits | step.noted

    def young(self, *, since_ms: Millis) -> Iterator[Sequence[Standing]]:
        yield [_standing(row) for row in self._rows() if _age(row) > since_ms]

    def unfinished(self, *, after: TaskId | None, most: int) -> Sequence[Standing]:
        noted = self._apart | self._ledger().brought_near
        line = sorted(row.id for row in self._rows() if row.id in noted)
        return self.of([one for one in line if after is None or one > after][:most])

    def unsubmitted(self, *, age: timedelta, most: int) -> Sequence[TaskId]:
        self._ledger().ask()
        latest = self._clock() - in_ms(age)
        rows = self._ledger().rows.values()
        return sorted(row.id for row in rows if not row.spec and row.generation < latest)[:most]

    def of(self, ids: Sequence[TaskId]) -> Sequence[Standing]:
        return [_standing(row) for row in self._ledger().of(ids)]

    def leave(self, ids: Sequence[TaskId]) -> None:
        self._apart -= set(ids)
        self._ledger().brought_near -= set(ids)

    def _rows(self) -> list[Row]:
        ledger = self._ledger()
        ledger.ask()
        return [row for row in ledger.rows.values() if row.spec]


class _HeldStep:
    def __init__(self, passed: Sequence[Standing]) -> None:
        self._passed = passed
        self.noted: set[TaskId] = set()

    def pages(self) -> Iterator[Sequence[Standing]]:
        yield self._passed

    def note(self, ids: Sequence[TaskId]) -> None:
        self.noted.update(ids)


def _age(row: Row) -> int:
    return row.spec.created_at_ms if row.spec else 0


def _standing(row: Row) -> Standing:
    return Standing(
        id=row.id,
        type=row.type,
        status=row.status,
        generation=row.generation,
        turn=row.turn,
        due_at_ms=row.due_at_ms,
        finished_at_ms=row.finished_at_ms,
    )
