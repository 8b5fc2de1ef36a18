"""One lane as plain values."""

from collections.abc import Iterator, Sequence
from typing import Final

from taskmill.core.task import TaskType
from taskmill.core.wake_up import WakeUp
from taskmill.lanes.caps import Caps
from taskmill.lanes.lane import Member
from taskmill.stores.memory.lanes.lines import HeldTask, Lines
from taskmill.stores.memory.lanes.wake_ups import STARTS_WITHIN, WakeUps

_WATCHED_WITHIN: Final = 2_000
"""A lane that nobody watched for this long (ms) is watched by its workers."""

_NOTED_FOR: Final = 500
"""Of several watches within so long (ms) the first is noted."""


_FURTHEST_LOOK: Final = 900_000
"""A look further ahead (ms) was set by a clock that has gone back since."""


class MemoryLane:
    """It is cold until `open`, and again after `forget` and `restart`."""

    def __init__(self) -> None:
        self.is_open = False
        self.is_attended = False
        """True when schedulers are always there, though nobody watches at every moment."""
        self.rebuild: tuple[str, int] | None = None
        """The nonce of the current rebuild, and its expiry."""
        self._epochs = 0
        self.clear()

    def clear(self) -> None:
        """Empty the lane, which gets a new epoch."""
        self.is_closed = False
        self.tasks: dict[Member, HeldTask] = {}
        self.flight: dict[Member, int] = {}
        """When the record of a member in flight is looked at: 1,000 times the ms, plus a number."""
        self.lines = Lines()
        self.wake_ups = WakeUps()
        self.pauses: dict[TaskType | None, int] = {}
        """Until when a type, or everything, is paused; 0 for no end."""
        self.revision = 0
        self.shelf: dict[str, int] = {}
        """The order of the task that was shelved last, of each line with an open shelf."""
        self._looks = 0
        self._ticked_at = 0
        self._stood_in_at = 0
        self.renew_epoch()

    def open(self) -> None:
        """Declare the data complete."""
        self.is_open = True

    def close(self) -> None:
        """Keep everything; only a lane that lost nothing is closed."""
        self.is_closed = self.is_closed or self.is_open
        self.is_open = False

    def forget(self) -> None:
        """Lose everything, including the declaration that the data is complete."""
        self.restart()
        self.clear()

    def restart(self) -> None:
        """Keep everything, but as another server that nobody has vouched for yet."""
        self.is_open = False
        self.rebuild = None

    def nonce(self, now: int) -> str | None:
        """Return the nonce of the current rebuild."""
        return self.rebuild[0] if self.rebuild and self.rebuild[1] > now else None

    @property
    def epoch(self) -> str:
        return str(self._epochs)

    def renew_epoch(self) -> None:
        self._epochs += 1

    def enter(self, task: HeldTask) -> bool:
        """Put a task into its line, unless it is in the lane already."""
        if task.member in self.tasks:
            return False
        self.tasks[task.member] = task
        self.lines.add(task)
        return True

    def has_room(self, line: str, caps: Caps, *, part: float = 1) -> bool:
        return caps.has_room(self.lines.size(line), self.lines.size(), part=part)

    def is_full(self, task: HeldTask, caps: Caps) -> bool:
        """Return whether a task that is new to its line is shelved."""
        line = str(task.line)
        return line in self.shelf or not self.has_room(line, caps)

    def shelve(self, line: str, order: int) -> None:
        self.shelf[line] = max(order, self.shelf.get(line, order))

    def note_brought(self, line: str, order: int) -> None:
        """Close the shelf of a line if this task was shelved last."""
        if order >= self.shelf.get(line, order):
            self.shelf.pop(line, None)

    def fly(self, member: Member, at_ms: int) -> int:
        """Note when the record is looked at: no two looks of a member are equal."""
        self._looks += 1
        self.flight[member] = at_ms * 1000 + self._looks % 1000
        return self.flight[member]

    def due(self, now: int) -> Sequence[Member]:
        """Return whose look has come; if there are any, those whose look cannot be."""
        in_order = sorted((look, str(member), member) for member, look in self.flight.items())
        ahead = [one for look, _, one in in_order if look >= (now + _FURTHEST_LOOK) * 1000]
        return ahead or [one for look, _, one in in_order if look <= now * 1000]

    def leave(self, member: Member) -> None:
        """Forget a task that is in flight."""
        if self.flight.pop(member, None) is not None:
            del self.tasks[member]

    def withdraw(self, member: Member) -> bool:
        """Forget a task that waits; one that is in flight stays."""
        if member not in self.tasks or member in self.flight:
            return False
        self.lines.withdraw(self.tasks.pop(member))
        return True

    def paused_until(self, task_type: TaskType, now: int) -> int | None:
        """Return the end of the pause of a type: 0 if it has no end, None if it is not paused."""
        ends = [self.pauses[one] for one in (None, task_type) if one in self.pauses]
        return 0 if 0 in ends else max((end for end in ends if end > now), default=None)

    def pauses_end(self, now: int) -> Iterator[int]:
        yield from (end for end in self.pauses.values() if end > now)

    def has_startable(self, now: int) -> bool:
        """Return whether something waits that no pause keeps."""
        types = {task.line.type for member, task in self.tasks.items() if member not in self.flight}
        return any(self.paused_until(one, now) is None for one in types)

    def wake(self, task_type: TaskType, partitions: int, now: int) -> list[WakeUp]:
        if self.paused_until(task_type, now) is not None:
            return []
        ordinary, alone = map(self.lines.waiting, (task_type, f"{task_type}!"))
        return self.wake_ups.wake(task_type, ordinary, alone, partitions, now)

    def note_watch(self, now: int, *, by_worker: bool) -> None:
        """Note it, unless one was noted a moment ago."""
        if by_worker:
            self._stood_in_at = _noted(self._stood_in_at, now)
        else:
            self._ticked_at = _noted(self._ticked_at, now)

    def has_no_scheduler(self, now: int) -> bool:
        """Return whether no scheduler has watched for a while."""
        return not self.is_attended and _is_long_ago(self._ticked_at, now)

    def is_unwatched(self, now: int) -> bool:
        """Return whether neither a scheduler nor a worker has watched for a while."""
        return self.has_no_scheduler(now) and _is_long_ago(self._stood_in_at, now)


def _noted(at: int, now: int) -> int:
    return now if abs(now - at) > _NOTED_FOR else at


def _is_long_ago(at: int, now: int) -> bool:
    """Return whether a watch was long ago, or is ahead: then the clock has gone back since."""
    return abs(now - at) > _WATCHED_WITHIN


_WOKEN_AGAIN: Final = STARTS_WITHIN + 1


class MemoryLaneSet:
    """The lanes of every type; a lane that nobody used before is as complete as the set."""

    def __init__(self) -> None:
        self._is_open = False
        self._is_attended = False
        self._lanes: dict[str, MemoryLane] = {}

    def __getitem__(self, name: str) -> MemoryLane:
        if name not in self._lanes:
            self._lanes[name] = MemoryLane()
            self._lanes[name].is_open = self._is_open
            self._lanes[name].is_attended = self._is_attended
        return self._lanes[name]

    def attend(self) -> None:
        """Let schedulers always be there: nobody waits for them in a world without threads."""
        self._is_attended = True
        for lane in self._lanes.values():
            lane.is_attended = True

    def next_look_ms(self, now: int) -> Iterator[int]:
        """Yield when something happens in each lane by itself."""
        for lane in self._lanes.values():
            yield from (look // 1000 + 1 for look in lane.flight.values())
            yield from lane.pauses_end(now)
            if lane.has_startable(now):
                yield now + _WOKEN_AGAIN

    def open(self) -> None:
        self._is_open = True
        for lane in self._lanes.values():
            lane.open()
            lane.renew_epoch()

    def forget(self) -> None:
        self._is_open = False
        for lane in self._lanes.values():
            lane.forget()

    def restart(self) -> None:
        self._is_open = False
        for lane in self._lanes.values():
            lane.restart()
