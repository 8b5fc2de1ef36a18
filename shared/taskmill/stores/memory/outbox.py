"""The outbox in memory."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from taskmill.core import codec
from taskmill.core.errors import StoreUnavailable
from taskmill.core.task import Envelope, TaskId
from taskmill.submission.outbox import OUTBOX_CAP, Lost, OutboxBacklog, ParkedTask, Unsent

STORE = "PostgreSQL"


@dataclass(slots=True, kw_only=True)
class UnsentRow:
    row: Unsent
    name: tuple[TaskId, str, int]
    is_published: bool = False
    parked_reason: str | None = None
    is_held: bool = False

    @property
    def is_unsent(self) -> bool:
        return not self.is_published and self.parked_reason is None


class MemoryOutbox:
    """While `is_away`, it neither keeps nor answers."""

    def __init__(self, *, cap: int = OUTBOX_CAP) -> None:
        self.is_away = False
        self.kept: list[UnsentRow] = []
        self._cap = cap

    def has_room(self, count: int) -> bool:
        self._ask()
        return sum(kept.is_unsent for kept in self.kept) + count <= self._cap

    def add(self, envelopes: Sequence[Envelope]) -> None:
        self._ask()
        for one in envelopes:
            self.put(codec.encode(one), (one.id, one.submission, one.generation))

    def put(self, envelope: bytes, name: tuple[TaskId, str, int]) -> None:
        if all(kept.name != name for kept in self.kept):
            row = Unsent(number=len(self.kept) + 1, envelope=envelope)
            self.kept.append(UnsentRow(row=row, name=name))

    def find(self, task_id: TaskId) -> Envelope | Lost | None:
        self._ask()
        found = [one for one in self.kept if one.name[0] == task_id and not one.is_published]
        if not found:
            return None
        found.sort(key=_place)
        why = found[0].parked_reason
        return codec.open_envelope(found[0].row.envelope) if why is None else Lost(why)

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
        line = [kept.row for kept in self.kept if kept.is_unsent and kept.row.number > after]
        return line[:most]

    @contextmanager
    def held(self, *, most: int) -> Iterator["MemoryHeld"]:
        self._ask()
        free = [kept for kept in self.kept if kept.is_unsent and not kept.is_held][:most]
        for kept in free:
            kept.is_held = True
        held = MemoryHeld(free)
        try:
            yield held
            self._ask()
            held.commit()
        finally:
            for kept in free:
                kept.is_held = False

    def _ask(self) -> None:
        if self.is_away:
            raise StoreUnavailable(STORE, "it is told to be away")


def _place(kept: UnsentRow) -> tuple[bool, bool, int, int]:
    generation = kept.name[2]
    return (kept.parked_reason is not None, generation == 0, -generation, kept.row.number)


class MemoryHeld:
    def __init__(self, kept: Sequence[UnsentRow]) -> None:
        self.rows = [one.row for one in kept]
        self._kept = {one.row.number: one for one in kept}
        self._published: list[int] = []
        self._parked: dict[int, str] = {}

    def mark_published(self, rows: Sequence[Unsent]) -> None:
        self._published += [row.number for row in rows]

    def park(self, row: Unsent, reason: str) -> None:
        self._parked[row.number] = reason

    def commit(self) -> None:
        for number in self._published:
            self._kept[number].is_published = True
        for number, reason in self._parked.items():
            self._kept[number].parked_reason = reason
