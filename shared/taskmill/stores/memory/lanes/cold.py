"""The rebuild of lanes, in memory."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from taskmill.core import codec
from taskmill.core.lifetimes import USUAL, Lifetimes
from taskmill.core.task import TaskType
from taskmill.core.time import in_ms
from taskmill.lanes.caps import USUAL_CAPS, Caps
from taskmill.lanes.lane import Entered, Filled, HeldEnvelope, Shelved, lane_of
from taskmill.stores.memory.lanes.lane import MemoryLane
from taskmill.stores.memory.lanes.lines import held
from taskmill.submission.ports import Catalogue

if TYPE_CHECKING:  # the hot store holds the lanes
    from taskmill.stores.memory.hot import MemoryHot


class MemoryColdLanes:
    def __init__(
        self,
        hot: "MemoryHot",
        catalogue: Catalogue,
        *,
        lifetimes: Lifetimes = USUAL,
        caps: Caps = USUAL_CAPS,
    ) -> None:
        self._hot = hot
        self._caps = caps
        self._catalogue = catalogue
        self._nonce_stays = in_ms(lifetimes.nonce_stays)

    def cold(self) -> Sequence[TaskType]:
        return [one for one, lane in self._lanes() if not lane.is_open]

    def begin(self, nonce: str, types: Sequence[TaskType]) -> Sequence[TaskType]:
        return [one for one in types if self._begin(nonce, self._lane(one))]

    def keep(self, nonce: str, types: Sequence[TaskType]) -> Sequence[TaskType]:
        kept = [one for one in types if self._is_rebuilt(nonce, self._lane(one))]
        for one in kept:
            self._lane(one).rebuild = (nonce, self._hot.clock() + self._nonce_stays)
        return kept

    def fill(
        self, nonce: str, task_type: TaskType, tasks: Sequence[Filled | Shelved]
    ) -> Sequence[Entered]:
        lane = self._lane(task_type)
        if lane.is_open or not self._is_rebuilt(nonce, lane):
            return [Entered.COLD] * len(tasks)
        return [self._fill(lane, task) for task in tasks]

    def open(self, nonce: str, types: Sequence[TaskType]) -> Sequence[TaskType]:
        opened = [one for one in types if self._is_rebuilt(nonce, self._lane(one))]
        for one in opened:
            self._lane(one).open()
            self._lane(one).rebuild = None
        return opened

    def leave(self, nonce: str, types: Sequence[TaskType]) -> None:
        for one in types:
            if self._is_rebuilt(nonce, self._lane(one)):
                self._lane(one).rebuild = None

    def close(self, types: Sequence[TaskType]) -> Sequence[TaskType]:
        for one in types:
            self._lane(one).close()
        return [one for one in types if self._lane(one).is_closed]

    def empty(self, types: Sequence[TaskType]) -> Sequence[TaskType]:
        closed = [one for one in types if self._lane(one).is_closed]
        for one in closed:
            self._lane(one).clear()
            self._lane(one).is_closed = True
        return closed

    def held(
        self, task_type: TaskType, *, after: str, most: int
    ) -> tuple[str, Sequence[HeldEnvelope]]:
        tasks, start = list(self._lane(task_type).tasks.values()), int(after)
        end = start + most
        place = str(end) if end < len(tasks) else "0"
        return place, [HeldEnvelope(one.member, one.raw) for one in tasks[start:end]]

    def renew_epochs(self) -> None:
        for _, lane in self._lanes():
            lane.renew_epoch()

    def _lane(self, task_type: TaskType) -> MemoryLane:
        return self._hot.lanes[lane_of(task_type)]

    def _lanes(self) -> Iterator[tuple[TaskType, MemoryLane]]:
        for entry in self._catalogue.entries():
            yield entry.name, self._lane(entry.name)

    def _is_rebuilt(self, nonce: str, lane: MemoryLane) -> bool:
        return lane.nonce(self._hot.clock()) == nonce

    def _begin(self, nonce: str, lane: MemoryLane) -> bool:
        if lane.is_open or lane.nonce(self._hot.clock()) is not None:
            return False
        lane.clear()
        lane.rebuild = (nonce, self._hot.clock() + self._nonce_stays)
        return True

    def _fill(self, lane: MemoryLane, task: Filled | Shelved) -> Entered:
        if isinstance(task, Shelved):
            lane.shelve(task.line, task.order)
            return Entered.SHELVED
        filled = held(task.envelope, codec.encode(task.envelope))
        if task.look_after is None and filled.member.turn == 1 and lane.is_full(filled, self._caps):
            lane.shelve(str(filled.line), filled.order)
            return Entered.SHELVED
        if task.look_after is None:
            lane.enter(filled)
        elif filled.member not in lane.tasks:
            lane.tasks[filled.member] = filled
            lane.fly(filled.member, self._hot.clock() + in_ms(task.look_after))
        return Entered.WAITS
