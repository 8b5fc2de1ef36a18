"""Tasks that the ledger alone keeps, and expiries, in memory."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta

from taskmill.core.ports import Clock
from taskmill.core.task import Priority, Status, TaskId, TaskType
from taskmill.core.time import Expiry, in_ms
from taskmill.lanes.lane import ClassCount, Member, Shelved, class_of, type_of
from taskmill.ledger.ports import ShelfCounts, ShelvedTask
from taskmill.ledger.projection import Row
from taskmill.stores.memory.ledger import MemoryLedger, waits_to_begin


class MemoryFarTasks:
    def __init__(self, ledger: Callable[[], MemoryLedger], clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock

    def coming(self, *, within: timedelta) -> Iterator[Sequence[Row]]:
        ledger = self._ledger()
        ledger.ask()
        until = self._clock() + in_ms(within)
        rows = [ledger.rows[task_id] for task_id in ledger.far_tasks]
        coming = [row for row in rows if row.spec and (row.due_at_ms or 0) < until]
        if coming:
            yield sorted(coming, key=lambda row: (row.due_at_ms or 0, row.id))

    def leave(self, rows: Sequence[Row]) -> None:
        ledger = self._ledger()
        ledger.ask()
        for row in rows:
            if ledger.far_tasks.get(row.id, (0, 0)) <= (row.generation, row.turn):
                ledger.far_tasks.pop(row.id, None)
                ledger.brought_near.add(row.id)


class MemoryExpiries:
    def __init__(self, ledger: Callable[[], MemoryLedger], clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock

    def past(self) -> Iterator[Sequence[Expiry]]:
        ledger = self._ledger()
        ledger.ask()
        over = [
            Expiry(id=task_id, expires_at_ms=at)
            for task_id, at in ledger.expiries.items()
            if at < self._clock()
        ]
        waiting = [one for one in over if waits_to_begin(ledger.rows[one.id])]
        self.leave([one for one in over if one not in waiting])
        if waiting:
            yield sorted(waiting, key=lambda one: (one.expires_at_ms, one.id))

    def leave(self, expiries: Sequence[Expiry]) -> None:
        ledger = self._ledger()
        ledger.ask()
        for one in expiries:
            if ledger.expiries.get(one.id) == one.expires_at_ms:
                del ledger.expiries[one.id]


class MemoryShelf:
    def __init__(self, ledger: Callable[[], MemoryLedger]) -> None:
        self._ledger = ledger
        self._ended: set[Member] = set()

    def last(self, *, after: str, most: int) -> Sequence[Shelved]:
        places = self._places().values()
        last = {one.line: one for one in sorted(places, key=_place_in_line)}
        return [last[line] for line in sorted(last) if line > after][:most]

    def first(self, line: str, *, most: int) -> Sequence[ShelvedTask]:
        here = sorted(
            (one for one in self._places().values() if one.line == line), key=_place_in_line
        )
        rows = self._ledger().rows
        tasks = [(one, rows[one.member.id]) for one in here]
        submitted = [ShelvedTask(one, _first_turn(one, row)) for one, row in tasks if row.spec]
        return submitted[:most]

    def keep(self, places: Sequence[Shelved]) -> None:
        known = self._places()
        for one in places:
            known[one.member.id, one.member.generation] = one

    def leave(self, places: Sequence[Shelved]) -> None:
        known = self._places()
        for one in places:
            known.pop((one.member.id, one.member.generation), None)

    def with_records(self, *, most: int) -> Sequence[Member]:
        members = (one.member for one in self._places().values())
        return sorted(one for one in members if one not in self._ended)[:most]

    def note_ended(self, members: Sequence[Member]) -> None:
        self._ended |= set(members)

    def count(self, *, most: int) -> ShelfCounts:
        places = sorted(self._places().values(), key=lambda one: one.line)[:most]
        alike: defaultdict[tuple[TaskType, Priority], list[int]] = defaultdict(list)
        for place in places:
            alike[type_of(place.line), class_of(place.line)].append(place.order)
        counts: defaultdict[TaskType, dict[Priority, ClassCount]] = defaultdict(dict)
        for (name, priority), orders in alike.items():
            counts[name][priority] = ClassCount(len(orders), min(orders))
        return counts

    def _places(self) -> dict[tuple[TaskId, int], Shelved]:
        ledger = self._ledger()
        ledger.ask()
        return ledger.shelved


def _place_in_line(place: Shelved) -> tuple[int, TaskId]:
    return place.order, place.member.id


def _first_turn(place: Shelved, row: Row) -> Row | None:
    """Return the row if the task still waits for its first turn."""
    member = place.member
    is_same = (row.generation, row.turn) == (member.generation, member.turn)
    return row if is_same and row.status is Status.QUEUED else None
