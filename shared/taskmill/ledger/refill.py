"""Refills lines from their shelves: from the ledger to the lanes."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Final, Protocol, TypeAlias

from taskmill.core import codec
from taskmill.core.codec import RawEnvelope
from taskmill.core.errors import StoreFull, StoreUnavailable
from taskmill.core.ports import Bus
from taskmill.core.task import TaskType
from taskmill.dispatch.ports import ShelvedRecords
from taskmill.dispatch.waiting import Unshelved, UnshelveOrder
from taskmill.lanes.enter import wake
from taskmill.lanes.lane import Entered, Shelved, type_of
from taskmill.lanes.ports import Lanes
from taskmill.ledger.far import unshelve_order
from taskmill.ledger.ports import Shelf, ShelvedTask

_LINES_AT_A_TIME: Final = 500
_TASKS_AT_A_TIME: Final = 500
_MOST_PAGES: Final = 40
"""Other lines have their turn after so many pages of one."""

_Entry: TypeAlias = tuple[Shelved, Shelved | RawEnvelope]
"""A place on the shelf, and what enters from it: only the place, if the task is over."""


class RefillStores(Protocol):
    """Ports for refilling."""

    @property
    def bus(self) -> Bus: ...

    @property
    def lanes(self) -> Lanes: ...

    @property
    def shelf(self) -> Shelf: ...

    @property
    def shelved_records(self) -> ShelvedRecords: ...


class ShelfRefill:
    """Any number of processes may refill side by side, and die on any line."""

    def __init__(self, stores: RefillStores) -> None:
        self._stores = stores

    def run(self) -> int:
        """End records that the ledger makes up for, then refill; return how many tasks entered.

        A line is refilled once less waits in it than half of what it may hold, then as long as
        there is room.
        """
        shelves = self._shelves(after="")
        if not shelves:  # most of the time
            return 0
        self._end_records()
        return sum(self._refill(line) for line in self._with_room(shelves))

    def _end_records(self) -> None:
        stores = self._stores
        for _ in range(_MOST_PAGES):
            members = stores.shelf.with_records(most=_TASKS_AT_A_TIME)
            if not members:
                break
            stores.shelved_records.shelve(members, stays=timedelta())
            stores.shelf.note_ended(members)

    def _shelves(self, *, after: str) -> Sequence[Shelved]:
        """Return the last task of each of the next lines that have a shelf."""
        return self._stores.shelf.last(after=after, most=_LINES_AT_A_TIME)

    def _with_room(self, shelves: Sequence[Shelved]) -> Iterator[str]:
        """Yield the lines that have room: of these shelves, and of all that follow."""
        while shelves:
            by_type: defaultdict[TaskType, list[str]] = defaultdict(list)
            for shelf in shelves:
                by_type[type_of(shelf.line)].append(shelf.line)
            yield from self._stores.lanes.with_room(by_type)
            shelves = self._shelves(after=shelves[-1].line)

    def _refill(self, line: str) -> int:
        """Bring tasks in, page after page; a row is deleted once its task is in its lane."""
        shelf, count = self._stores.shelf, 0
        for _ in range(_MOST_PAGES):
            tasks = shelf.first(line, most=_TASKS_AT_A_TIME)
            brought = self._bring_in(tasks) if tasks else []
            if brought:
                shelf.leave(brought)
            count += len(brought)
            if not tasks or len(brought) < len(tasks):
                break
        return count

    def _bring_in(self, tasks: Sequence[ShelvedTask]) -> Sequence[Shelved]:
        """Return the places of tasks that wait in their lane by now, or are over."""
        stores = self._stores
        try:
            entries = self._entries(tasks)
            answer = stores.lanes.bring_in([entry for _, entry in entries])
        except StoreFull:
            return []  # the backlog drains meanwhile
        wake(answer.wake, stores.bus)
        with suppress(StoreUnavailable):  # only wake-ups are on their way now
            stores.bus.flush()
        pairs = zip(entries, answer.answers, strict=True)
        return [place for (place, _), entered in pairs if entered is Entered.WAITS]

    def _entries(self, tasks: Sequence[ShelvedTask]) -> Sequence[_Entry]:
        """Make the records first; nothing passes a task whose shard is cold."""
        orders = {task.place.member: order for task in tasks if (order := _order(task))}
        answers = self._stores.shelved_records.unshelve(list(orders.values()))
        states = dict(zip(orders, answers, strict=True))
        entries: list[_Entry] = []
        for place in (task.place for task in tasks):
            state = states.get(place.member, Unshelved.OVER)
            if state is Unshelved.COLD:
                break
            is_queued = state is Unshelved.QUEUED
            entries.append((place, _raw(orders[place.member]) if is_queued else place))
        return entries


def _order(task: ShelvedTask) -> UnshelveOrder | None:
    return None if task.row is None else unshelve_order(task.row)


def _raw(order: UnshelveOrder) -> RawEnvelope:
    return RawEnvelope(order.envelope, codec.encode(order.envelope))
