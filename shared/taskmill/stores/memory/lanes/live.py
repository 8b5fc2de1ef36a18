"""Lanes and their rings, in memory."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from taskmill.core.codec import RawEnvelope
from taskmill.core.lifetimes import USUAL, Lifetimes
from taskmill.core.owed import Cold
from taskmill.core.ports import Pause
from taskmill.core.task import Millis, Priority, TaskType
from taskmill.core.time import in_ms
from taskmill.core.wake_up import WakeUp
from taskmill.lanes.caps import HALF, USUAL_CAPS, Caps
from taskmill.lanes.lane import (
    BYTES_TAKEN,
    LOOK_TAKES,
    Alone,
    ClassCount,
    Enter,
    Entered,
    LaneCount,
    LanePause,
    Leave,
    LookLater,
    Member,
    PutBack,
    Shelved,
    Take,
    TakeAnswer,
    TakenTask,
    Watched,
    lane_of,
    type_of,
)
from taskmill.stores.memory.lanes.lane import MemoryLane
from taskmill.stores.memory.lanes.lines import HeldTask, held
from taskmill.submission.ports import Catalogue

if TYPE_CHECKING:  # the hot store holds the lanes
    from taskmill.stores.memory.hot import MemoryHot

_FIRST_STEP: Final = 16
_STEP: Final = 32
"""A take picks in steps of at most so many, so that few large envelopes end it in time."""


class MemoryLanes:
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
        self._lease = in_ms(lifetimes.lease)

    def enter(self, tasks: Sequence[RawEnvelope], *, past: bool = False) -> Enter:
        answers = [self._enter(task, past=past) for task in tasks]
        types = dict.fromkeys(task.type for task in tasks)
        return Enter(tuple(answers), tuple(self._wake(types)))

    def bring_in(self, tasks: Sequence[Shelved | RawEnvelope]) -> Enter:
        full: set[str] = set()
        answers = [self._bring_in(task, full) for task in tasks]
        types = dict.fromkeys(_type_of(task) for task in tasks)
        return Enter(tuple(answers), tuple(self._wake(types)))

    def with_room(self, lines: Mapping[TaskType, Sequence[str]]) -> Sequence[str]:
        return [
            line
            for task_type, some in lines.items()
            if (lane := self._lane(task_type)) is not None
            for line in some
            if lane.has_room(line, self._caps, part=HALF)
        ]

    def take(self, take: Take) -> TakeAnswer | Cold:
        lane = self._lane(take.type)
        if lane is None:
            return Cold()
        self._let_leave(lane, take.leaves, take.epoch)
        picked = self._picked(lane, take)
        tasks = tuple(self._fly(lane, task, self._lease) for task in picked)
        self._note_taker(lane, take, taken=len(tasks))
        return TakeAnswer(
            epoch=lane.epoch,
            tasks=tasks,
            is_alone=any(task.line.is_alone for task in picked),
            is_unwatched=take.partition is not None and lane.is_unwatched(self._now()),
            must_stay=self._must_stay(lane, take),
            wake=tuple(self._wake([take.type])),
        )

    def leave(self, task_type: TaskType, leaves: Sequence[Leave]) -> None:
        lane = self._lane(task_type)
        if lane is not None:
            self._let_leave(lane, leaves, lane.epoch)

    def put_back(self, tasks: Sequence[PutBack]) -> Sequence[WakeUp]:
        for task in tasks:
            self._put_back(task)
        return self._wake(dict.fromkeys(task.type for task in tasks))

    def look_later(self, tasks: Sequence[LookLater]) -> None:
        for task in tasks:
            lane = self._lane(task.type)
            if lane is not None and lane.flight.get(task.member) == task.look:
                lane.fly(task.member, self._now() + in_ms(task.after))

    def watch(
        self, *, most: int, only: TaskType | None = None
    ) -> Sequence[tuple[TaskType, Watched]]:
        types = [only] if only else [one.name for one in self._catalogue.entries()]
        live = [(name, lane) for name in types if (lane := self._lane(name)) is not None]
        for _, lane in live:
            lane.note_watch(self._now(), by_worker=only is not None)
        return [(name, self._watch(lane, name, most)) for name, lane in live]

    def epochs(self, types: Collection[TaskType]) -> Sequence[str | None]:
        lanes = [self._lane(one) for one in types]
        return [None if lane is None else lane.epoch for lane in lanes]

    def withdraw(self, task_type: TaskType, members: Sequence[Member], *, epoch: str) -> int:
        lane = self._lane(task_type)
        if lane is None or lane.epoch != epoch:
            return 0
        return sum(lane.withdraw(member) for member in members)

    def holds(self, tasks: Sequence[tuple[TaskType, Member]]) -> Sequence[bool | None]:
        lanes = [(self._lane(name), member) for name, member in tasks]
        return [None if lane is None else member in lane.tasks for lane, member in lanes]

    def set_pauses(
        self, pauses: Sequence[LanePause], *, revision: int, wakes: bool = True
    ) -> Sequence[WakeUp]:
        ends = {pause.type: pause.until_ms or 0 for pause in pauses}
        for entry in self._catalogue.entries():
            lane = self._hot.lanes[lane_of(entry.name)]
            is_there = lane.is_open or lane.nonce(self._now()) is not None
            if is_there and lane.revision < revision:
                lane.pauses, lane.revision = ends, revision
        return self._wake(entry.name for entry in self._catalogue.entries()) if wakes else ()

    def revisions(self, types: Collection[TaskType]) -> Sequence[int | None]:
        lanes = [self._lane(one) for one in types]
        return [None if lane is None else lane.revision or 0 for lane in lanes]

    def count(self, types: Sequence[TaskType]) -> Sequence[LaneCount | Cold]:
        return [self._count(one) for one in types]

    def _now(self) -> Millis:
        return self._hot.clock()

    def _lane(self, task_type: TaskType) -> MemoryLane | None:
        lane = self._hot.lanes[lane_of(task_type)]
        return lane if lane.is_open else None

    def _wake(self, types: Iterable[TaskType]) -> Sequence[WakeUp]:
        return [wake_up for one in types for wake_up in self._wake_one(one)]

    def _wake_one(self, task_type: TaskType) -> Sequence[WakeUp]:
        lane, entry = self._lane(task_type), self._catalogue.entry(task_type)
        if lane is None or entry is None:
            return ()
        return lane.wake(task_type, entry.partitions, self._now())

    def _enter(self, task: RawEnvelope, *, past: bool) -> Entered:
        lane = self._lane(task.type)
        if lane is None:
            return Entered.COLD
        one = held(task.envelope, task.raw)
        is_new = one.member not in lane.tasks
        if is_new and not past and one.member.turn == 1 and lane.is_full(one, self._caps):
            lane.shelve(str(one.line), one.order)
            return Entered.SHELVED
        lane.enter(one)
        return Entered.WAITS

    def _bring_in(self, task: Shelved | RawEnvelope, full: set[str]) -> Entered:
        """Bring a task in; nothing passes one of its line that found no room, as *full* knows."""
        lane = self._lane(_type_of(task))
        if lane is None:
            return Entered.COLD
        if isinstance(task, Shelved):
            line, order = task.line, task.order
        else:
            one = held(task.envelope, task.raw)
            line, order = str(one.line), one.order
            is_new = one.member not in lane.tasks and one.member.turn == 1
            if is_new and (line in full or not lane.has_room(line, self._caps)):
                full.add(line)
                return Entered.SHELVED
            lane.enter(one)
        if line not in full:
            lane.note_brought(line, order)
        return Entered.WAITS

    def _picked(self, lane: MemoryLane, take: Take) -> Sequence[HeldTask]:
        if take.most == 0 or lane.paused_until(take.type, self._now()) is not None:
            return ()
        for_alone = f"{take.type}!"
        if take.alone is Alone.FIRST and (picked := self._pick(lane, for_alone, 1)):
            return picked
        if picked := self._pick(lane, take.type, take.most):
            return picked
        return self._pick(lane, for_alone, 1) if take.alone is Alone.LAST else ()

    def _pick(self, lane: MemoryLane, name: str, most: int) -> Sequence[HeldTask]:
        """Pick in steps: the first tasks show how many more are of the right size together."""
        picked: list[HeldTask] = []
        step, size = _FIRST_STEP, 0
        while len(picked) < most and size < BYTES_TAKEN:
            more = self._pick_step(lane, name, min(step, most - len(picked)))
            if not more:
                break
            picked += more
            size += sum(len(task.raw) for task in more)
            step = min(_STEP, max((BYTES_TAKEN - size) * len(picked) // size, 1))
        return picked

    def _pick_step(self, lane: MemoryLane, name: str, most: int) -> list[HeldTask]:
        return list(islice(iter(partial(lane.lines.pick, name, self._now()), None), most))

    def _fly(self, lane: MemoryLane, task: HeldTask, span_ms: int) -> TakenTask:
        look = lane.fly(task.member, self._now() + span_ms)
        return TakenTask(member=task.member, look=look, raw=task.raw)

    def _let_leave(self, lane: MemoryLane, leaves: Sequence[Leave], epoch: str) -> None:
        for one in leaves:
            if one.epoch == epoch == lane.epoch:
                lane.leave(one.member)

    def _note_taker(self, lane: MemoryLane, take: Take, *, taken: int) -> None:
        """Note who took; a process that got all it asked for takes again before it waits."""
        if take.partition is None:
            return
        waits = take.waits
        if taken and (waits is None or taken == take.most):
            waits = timedelta()
        until = None if waits is None else self._now() + in_ms(waits)
        lane.wake_ups.took((take.type, take.partition), self._now(), until=until)

    def _must_stay(self, lane: MemoryLane, take: Take) -> bool:
        if take.partition is None:
            return False
        now = self._now()
        is_last = not lane.wake_ups.asks_beside((take.type, take.partition), now)
        return bool(lane.flight) and is_last and lane.has_no_scheduler(now)

    def _put_back(self, task: PutBack) -> None:
        lane = self._lane(task.type)
        if lane is None or lane.flight.get(task.member) != task.look:
            return
        held_task = lane.tasks[task.member]
        if task.alone:
            held_task.line = replace(held_task.line, is_alone=True)
        del lane.flight[task.member]
        lane.lines.add(held_task)

    def _watch(self, lane: MemoryLane, task_type: TaskType, most: int) -> Watched:
        now = self._now()
        due = lane.due(now)
        tasks = [lane.tasks[one] for one in due[:most]]
        return Watched(
            epoch=lane.epoch,
            is_empty=not lane.tasks,
            tasks=tuple(self._fly(lane, task, in_ms(LOOK_TAKES)) for task in tasks),
            wake=tuple(self._wake([task_type])),
        )

    def _count(self, task_type: TaskType) -> LaneCount | Cold:
        lane = self._lane(task_type)
        if lane is None:
            return Cold()
        taken_at, until = lane.wake_ups.taken_at(), lane.paused_until(task_type, self._now())
        return LaneCount(
            classes={one: _counted(lane, task_type, f"{3 - one}") for one in Priority},
            alone=_counted(lane, f"{task_type}!"),
            in_flight=len(lane.flight),
            taken_at_ms=None if taken_at is None else Millis(taken_at),
            paused_until_ms=None if until is None else Millis(until),
        )


def _type_of(task: Shelved | RawEnvelope) -> TaskType:
    return type_of(task.line) if isinstance(task, Shelved) else task.type


def _counted(lane: MemoryLane, *path: str) -> ClassCount:
    return ClassCount(*lane.lines.count(path))


class MemoryRings:
    def __init__(self, hot: "MemoryHot", pause: Pause) -> None:
        self._hot = hot
        self._pause = pause

    def wait(self, task_type: TaskType, partition: int) -> bool:
        """Let a moment pass if nobody rang; there is no thread that could wait for a ring."""
        wake_ups = self._hot.lanes[lane_of(task_type)].wake_ups
        if wake_ups.is_rung((task_type, partition)):
            return True
        self._pause(_A_MOMENT)
        return wake_ups.is_rung((task_type, partition))


_A_MOMENT: Final = timedelta(milliseconds=20)
