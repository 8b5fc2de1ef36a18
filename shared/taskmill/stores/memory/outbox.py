"""The outbox in memory."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from taskmill.core import codec
from taskmill.core.errors import StoreUnavailable
from taskmill.core.ports import Clock
from taskmill.core.task import Envelope, Millis, TaskId
from taskmill.submission.outbox import OUTBOX_CAP, Lost, OutboxBacklog, ParkedTask, Unsent

STORE = "PostgreSQL"


def _now() -> Millis:
    return Millis(time.time_ns() // 1_000_000)


@dataclass(slots=True, kw_only=True)
class UnsentRow:
    row: Unsent
    name: tuple[TaskId, str, int]
    since_ms: Millis
    published_ms: Millis | None = None
    parked_reason: str | None = None
    is_held: bool = False

    @property
    def is_published(self) -> bool:
        return self.published_ms is not None

    @property
    def is_unsent(self) -> bool:
        return not self.is_published and self.parked_reason is None

    def is_missing(self, as_of_ms: Millis) -> bool:
        """Return whether a ledger that shows the log up to this moment may lack it."""
        return self.is_unsent or (self.published_ms or 0) >= as_of_ms


class MemoryOutbox:
    """While `is_away`, it is unavailable."""

    def __init__(self, *, cap: int = OUTBOX_CAP, clock: Clock = _now) -> None:
        self.is_away = False
        self.clock = clock
        self.kept: list[UnsentRow] = []
        self._cap = cap

    def has_room(self, count: int) -> bool:
        self._ask()
        return sum(entry.is_unsent for entry in self.kept) + count <= self._cap

    def add(self, envelopes: Sequence[Envelope]) -> None:
        self._ask()
        for one in envelopes:
            self.put(codec.encode(one), (one.id, one.submission, one.generation))

    def put(self, envelope: bytes, name: tuple[TaskId, str, int]) -> None:
        if all(entry.name != name for entry in self.kept):
            row = Unsent(number=len(self.kept) + 1, envelope=envelope)
            self.kept.append(UnsentRow(row=row, name=name, since_ms=self.clock()))

    def find(self, task_id: TaskId) -> Envelope | Lost | None:
        self._ask()
        rows = [one for one in self.kept if one.name[0] == task_id and not one.is_published]
        if not rows:
            return None
        rows.sort(key=_place)
        why = rows[0].parked_reason
        return codec.open_envelope(rows[0].row.envelope) if why is None else Lost(why)

    def parked(self, *, most: int) -> Sequence[ParkedTask]:
        self._ask()
        return [
            ParkedTask(task_id=one.name[0], why=one.parked_reason)
            for one in self.kept
            if one.parked_reason is not None
        ][:most]

    def backlog(self, *, most: int) -> OutboxBacklog:
        self._ask()
        return OutboxBacklog(
            waiting=min(sum(one.is_unsent for one in self.kept), most),
            parked=min(sum(one.parked_reason is not None for one in self.kept), most),
        )

    def unsent(self, *, after: int, most: int) -> Sequence[Unsent]:
        self._ask()
        line = [entry.row for entry in self.kept if entry.is_unsent and entry.row.number > after]
        return line[:most]

    def waits_since(self) -> Millis | None:
        self._ask()
        return min((entry.since_ms for entry in self.kept if entry.is_unsent), default=None)

    @contextmanager
    def held(self, *, most: int) -> Iterator["MemoryHeld"]:
        self._ask()
        free = [entry for entry in self.kept if entry.is_unsent and not entry.is_held][:most]
        for entry in free:
            entry.is_held = True
        hold = MemoryHeld(free, self.clock)
        try:
            yield hold
            self._ask()
            hold.commit()
        finally:
            for entry in free:
                entry.is_held = False

    def _ask(self) -> None:
        if self.is_away:
            raise StoreUnavailable(STORE, "it is set to be unavailable")


def _place(entry: UnsentRow) -> tuple[bool, bool, int, int]:
    generation = entry.name[2]
    return (entry.parked_reason is not None, generation == 0, -generation, entry.row.number)


class MemoryHeld:
    def __init__(self, entries: Sequence[UnsentRow], clock: Clock) -> None:
        self.rows = [one.row for one in entries]
        self._entries = {one.row.number: one for one in entries}
        self._clock = clock
        self._published: list[int] = []
        self._parked: dict[int, str] = {}

    def mark_published(self, rows: Sequence[Unsent]) -> None:
        self._published += [row.number for row in rows]

    def park(self, row: Unsent, reason: str) -> None:
        self._parked[row.number] = reason

    def commit(self) -> None:
        for number in self._published:
            self._entries[number].published_ms = self._clock()
        for number, reason in self._parked.items():
            self._entries[number].parked_reason = reason
