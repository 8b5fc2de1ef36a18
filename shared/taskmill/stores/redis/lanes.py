"""Lanes, their rebuild and their rings, in Redis."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from msgspec.structs import astuple

from taskmill.core import codec
from taskmill.core.codec import RawEnvelope
from taskmill.core.lifetimes import USUAL, Lifetimes
from taskmill.core.owed import Cold
from taskmill.core.task import Envelope, Millis, Priority, TaskType
from taskmill.core.time import in_ms
from taskmill.core.wake_up import WakeUp
from taskmill.lanes.caps import USUAL_CAPS, Caps
from taskmill.lanes.lane import (
    BYTES_TAKEN,
    LOOK_TAKES,
    ClassCount,
    Enter,
    Entered,
    Filled,
    HeldEnvelope,
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
    line_of,
    member_in,
    member_of,
    type_of,
)
from taskmill.lanes.order import order_of
from taskmill.stores.redis import scripts
from taskmill.stores.redis.keys import LaneKeys, lane_keys
from taskmill.stores.redis.scripts import Script
from taskmill.stores.redis.session import Argument, Call, Session
from taskmill.submission.ports import Catalogue

_TASKS_IN_A_CALL: Final = 500
"""A script may have 3,999 arguments, and a task has up to five."""

_BYTES_IN_A_CALL: Final = 4_000_000
"""Redis serves nobody else while a script runs. A larger envelope travels alone."""

_ENTERED: Final = {"1": Entered.WAITS, "0": Entered.SHELVED}
"""What the scripts say of a task."""

_LINES: Final = "lanes/lines"
_ROOM: Final = "lanes/room"

T = TypeVar("T")


class RedisLanes:
    def __init__(
        self,
        session: Session,
        catalogue: Catalogue,
        *,
        lifetimes: Lifetimes = USUAL,
        most_partitions: int = 0,
        caps: Caps = USUAL_CAPS,
    ) -> None:
        """Wake processes of at most so many partitions of a type; 0 for all that it declares."""
        self._session = session
        self._catalogue = catalogue
        self._most_partitions = most_partitions
        self._lease = in_ms(lifetimes.lease)
        self._caps = astuple(caps)
        self._rings_of: dict[str, Sequence[str]] = {}
        self._enter = scripts.load("lanes/enter_lane", _LINES, _ROOM)
        self._find_room = scripts.load("lanes/find_room", _LINES, _ROOM)
        self._take = scripts.load("lanes/take_tasks", _LINES)
        self._put_back = scripts.load("lanes/put_back", _LINES)
        self._look_later = scripts.load("lanes/look_later", _LINES)
        self._watch = scripts.load("lanes/watch_lane", _LINES)
        self._withdraw = scripts.load("lanes/withdraw_tasks", _LINES)
        self._set_rules = scripts.load("lanes/set_rules", _LINES)
        self._count = scripts.load("lanes/count_lane", _LINES)
        self._read_epoch = scripts.load("lanes/read_epoch")
        self._holds = scripts.load("lanes/holds_tasks")
        self._read_revision = scripts.load("lanes/read_revision")

    def enter(self, tasks: Sequence[RawEnvelope], *, past: bool = False) -> Enter:
        words = [(*_place_of(task.envelope), task.raw) for task in tasks]
        return self._enter_all(
            [lane_of(task.type) for task in tasks], words, "past" if past else ""
        )

    def bring_in(self, tasks: Sequence[Shelved | RawEnvelope]) -> Enter:
        lanes = [_lane_of(task) for task in tasks]
        return self._enter_all(lanes, [_from_the_shelf(task) for task in tasks], "shelf")

    def with_room(self, lines: Mapping[TaskType, Sequence[str]]) -> Sequence[str]:
        calls = [self._call(lane_of(one), *self._caps, *some) for one, some in lines.items()]
        answers = self._session.call(self._find_room, calls)
        return [line.decode() for answer in answers for line in answer[1:]]

    def _enter_all(
        self, lanes: Sequence[str], words: Sequence[Sequence[Argument]], mode: str
    ) -> Enter:
        """Enter tasks, which are given as the script wants them, with the lane of each."""
        pairs = zip(lanes, enumerate(words), strict=True)
        chunks = list(_chunks(pairs, size=lambda numbered: _bytes_of(numbered[1])))
        calls = [
            self._waking_within(lane, mode, *_flat(word for _, word in chunk))
            for lane, chunk in chunks
        ]
        answers = self._session.call(self._enter, calls)
        entered = [Entered.COLD] * len(words)
        for (_, chunk), answer in zip(chunks, answers, strict=True):
            if not _is_cold(answer):
                for (at, _), mark in zip(chunk, answer[0].decode(), strict=True):
                    entered[at] = _ENTERED[mark]
        wake_ups = (wake_up for answer in answers for wake_up in _wake_ups(answer[1:]))
        return Enter(tuple(entered), tuple(wake_ups))

    def take(self, take: Take) -> TakeAnswer | Cold:
        leaves = [one.member for one in take.leaves if one.epoch == take.epoch]
        now, *later = [
            leaves[start : start + _TASKS_IN_A_CALL]
            for start in range(0, max(len(leaves), 1), _TASKS_IN_A_CALL)
        ]
        calls = [
            self._taking(take, now),
            *(self._leaving(take.type, take.epoch, one) for one in later),
        ]
        answer, *_ = self._session.call(self._take, calls)
        if _is_cold(answer):
            return Cold()
        epoch, is_unwatched, must_stay, is_alone, count, *others = answer
        end = 3 * int(count)
        return TakeAnswer(
            epoch=epoch.decode(),
            tasks=_taken(others[:end]),
            is_alone=is_alone == b"1",
            is_unwatched=is_unwatched == b"1",
            must_stay=must_stay == b"1",
            wake=_wake_ups(others[end:]),
        )

    def leave(self, task_type: TaskType, leaves: Sequence[Leave]) -> None:
        chunks = _chunks((one.epoch, one.member) for one in leaves)
        calls = [self._leaving(task_type, epoch, members) for epoch, members in chunks]
        self._session.call(self._take, calls)

    def put_back(self, tasks: Sequence[PutBack]) -> Sequence[WakeUp]:
        calls = [
            self._waking(lane, *_flat(_putting_back(task) for task in chunk))
            for lane, chunk in _chunks((lane_of(task.type), task) for task in tasks)
        ]
        answers = self._session.call(self._put_back, calls)
        return [wake_up for answer in answers for wake_up in _wake_ups(answer[1:])]

    def look_later(self, tasks: Sequence[LookLater]) -> None:
        calls = [
            self._call(lane, *_flat((str(one.member), one.look, in_ms(one.after)) for one in chunk))
            for lane, chunk in _chunks((lane_of(task.type), task) for task in tasks)
        ]
        self._session.call(self._look_later, calls)

    def watch(
        self, *, most: int, only: TaskType | None = None
    ) -> Sequence[tuple[TaskType, Watched]]:
        types = [only] if only else [entry.name for entry in self._catalogue.entries()]
        arguments = (most, in_ms(LOOK_TAKES), "stood_in" if only else "ticked")
        calls = [self._waking(lane_of(one), *arguments) for one in types]
        answers = zip(types, self._session.call(self._watch, calls), strict=True)
        return [(one, _watched(answer)) for one, answer in answers if not _is_cold(answer)]

    def epochs(self, types: Collection[TaskType]) -> Sequence[str | None]:
        return self._read(self._read_epoch, types)

    def withdraw(self, task_type: TaskType, members: Sequence[Member], *, epoch: str) -> int:
        calls = [
            self._call(lane, epoch, *map(str, chunk))
            for lane, chunk in _chunks((lane_of(task_type), member) for member in members)
        ]
        answers = self._session.call(self._withdraw, calls)
        return sum(int(answer) for answer in answers if answer not in {b"COLD", b"OTHER"})

    def holds(self, tasks: Sequence[tuple[TaskType, Member]]) -> Sequence[bool | None]:
        chunks = list(_chunks((lane_of(name), (name, member)) for name, member in tasks))
        calls = [_asking(lane, [member for _, member in chunk]) for lane, chunk in chunks]
        held: dict[tuple[TaskType, Member], bool | None] = {}
        for (_, chunk), answer in zip(chunks, self._session.call(self._holds, calls), strict=True):
            known = [None] * len(chunk) if _is_cold(answer) else map(bool, answer)
            held |= zip(chunk, known, strict=True)
        return [held[task] for task in tasks]

    def set_pauses(
        self, pauses: Sequence[LanePause], *, revision: int, wakes: bool = True
    ) -> Sequence[WakeUp]:
        lanes = [lane_of(entry.name) for entry in self._catalogue.entries()]
        calls = [
            self._ruling(one, self._types(one) if wakes else "", revision, pauses) for one in lanes
        ]
        answers = self._session.call(self._set_rules, calls)
        return [wake_up for answer in answers for wake_up in _wake_ups(answer[1:])]

    def revisions(self, types: Collection[TaskType]) -> Sequence[int | None]:
        answers = self._read(self._read_revision, types)
        return [None if answer is None else int(answer) for answer in answers]

    def count(self, types: Sequence[TaskType]) -> Sequence[LaneCount | Cold]:
        calls = [self._call(lane_of(one), one) for one in types]
        return [_counted(answer) for answer in self._session.call(self._count, calls)]

    def _read(self, script: Script, types: Collection[TaskType]) -> Sequence[str | None]:
        """Return the answer of each type's lane; None while it is cold."""
        keys = [lane_keys(lane_of(one)) for one in types]
        calls: list[Call] = [([one.marker, one.state], []) for one in keys]
        answers = self._session.call(script, calls)
        return [None if answer == b"COLD" else answer.decode() for answer in answers]

    def _types(self, lane: str) -> str:
        """Return the deployed types of a lane with their partitions: those that can be woken."""
        count = self._partitions(lane)
        return f"{lane}={count}" if count else ""

    def _partitions(self, lane: str) -> int:
        entry = self._catalogue.entry(lane)
        count = 0 if entry is None else entry.partitions
        return min(count, self._most_partitions or count)

    def _call(self, lane: str, *arguments: Argument) -> Call:
        return lane_keys(lane).every, arguments

    def _waking(self, lane: str, *arguments: Argument) -> Call:
        """Return a call that may wake processes: their rings are the last keys."""
        return [*lane_keys(lane).every, *self._rings(lane)], [self._types(lane), *arguments]

    def _rings(self, lane: str) -> Sequence[str]:
        if lane not in self._rings_of:
            keys, count = lane_keys(lane), self._partitions(lane)
            self._rings_of[lane] = [keys.rings(TaskType(lane), one) for one in range(count)]
        return self._rings_of[lane]

    def _waking_within(self, lane: str, *arguments: Argument) -> Call:
        """Return a call that may wake processes, and asks how much may wait."""
        keys, (types, *others) = self._waking(lane, *arguments)
        return keys, [*self._caps, types, *others]

    def _taking(self, take: Take, leaves: Sequence[Member]) -> Call:
        return self._waking(
            lane_of(take.type),
            take.type,
            take.most,
            take.alone,
            "" if take.partition is None else take.partition,
            -1 if take.waits is None else in_ms(take.waits),
            self._lease,
            BYTES_TAKEN,
            take.epoch,
            *map(str, leaves),
        )

    def _leaving(self, task_type: TaskType, epoch: str, members: Sequence[Member]) -> Call:
        """Return a take of nothing: it wakes nobody."""
        nothing = ("", task_type, 0, "", "", 0, self._lease, 0)
        return self._call(lane_of(task_type), *nothing, epoch, *map(str, members))

    def _ruling(self, lane: str, types: str, revision: int, pauses: Sequence[LanePause]) -> Call:
        """Return a call that wakes processes of these types."""
        rules: list[Argument] = []
        for pause in pauses:
            if pause.type is None or lane_of(pause.type) == lane:
                rules += [_rule_of(pause), pause.until_ms or 0]
        keys = lane_keys(lane)
        rings = self._rings(lane)
        return [*keys.every, keys.rebuild, *rings], [types, revision, *rules]


class RedisRings:
    """Waits on a connection of its own, so that no other call waits for it."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def wait(self, task_type: TaskType, partition: int) -> bool:
        rings = lane_keys(lane_of(task_type)).rings(task_type, partition)
        ring = self._session.command("BLPOP", rings, _SECONDS_FOR_A_RING)
        return ring is not None


_SECONDS_FOR_A_RING: Final = 1


class RedisColdLanes:
    def __init__(
        self,
        session: Session,
        catalogue: Catalogue,
        *,
        lifetimes: Lifetimes = USUAL,
        caps: Caps = USUAL_CAPS,
    ) -> None:
        self._session = session
        self._catalogue = catalogue
        self._caps = astuple(caps)
        self._nonce_stays = in_ms(lifetimes.nonce_stays)
        self._ask = scripts.load("recovery/ask_shard")
        self._begin = scripts.load("lanes/begin_lane")
        self._keep = scripts.load("recovery/keep_rebuild")
        self._fill = scripts.load("lanes/fill_lane", _LINES, _ROOM)
        self._open = scripts.load("recovery/open_shard")
        self._renew_epoch = scripts.load("lanes/renew_epoch")
        self._close = scripts.load("lanes/close_lane")
        self._empty = scripts.load("lanes/empty_lane")
        self._list = scripts.load("lanes/list_lane")

    def cold(self) -> Sequence[TaskType]:
        types = self._types()
        calls: list[Call] = [([keys.marker], []) for keys in map(_keys_of, types)]
        return _those(types, self._session.call(self._ask, calls), b"COLD")

    def begin(self, nonce: str, types: Sequence[TaskType]) -> Sequence[TaskType]:
        calls: list[Call] = [(self._all_keys(one), [nonce, self._nonce_stays]) for one in types]
        return _those(types, self._session.call(self._begin, calls), b"BEGUN")

    def keep(self, nonce: str, types: Sequence[TaskType]) -> Sequence[TaskType]:
        return self._keep_for(self._nonce_stays, nonce, types)

    def fill(
        self, nonce: str, task_type: TaskType, tasks: Sequence[Filled | Shelved]
    ) -> Sequence[Entered]:
        keys, marks = _keys_of(task_type), ""
        for portion in _portions([_filling(task) for task in tasks], size=_bytes_of):
            call: Call = (
                [*keys.every, keys.rebuild],
                [*self._caps, nonce, *_flat(portion)],
            )
            # One after the other: all of them together might take longer than anybody waits.
            (answer,) = self._session.call(self._fill, [call])
            if answer == b"START AGAIN":
                return [Entered.COLD] * len(tasks)
            marks += answer.decode()
        return [_ENTERED[mark] for mark in marks]

    def open(self, nonce: str, types: Sequence[TaskType]) -> Sequence[TaskType]:
        calls: list[Call] = [
            ([keys.rebuild, keys.marker], [nonce]) for keys in map(_keys_of, types)
        ]
        return _those(types, self._session.call(self._open, calls), b"OPEN")

    def leave(self, nonce: str, types: Sequence[TaskType]) -> None:
        self._keep_for(0, nonce, types)

    def close(self, types: Sequence[TaskType]) -> Sequence[TaskType]:
        calls: list[Call] = [([keys.marker, keys.state], []) for keys in map(_keys_of, types)]
        return _those(types, self._session.call(self._close, calls), b"CLOSED")

    def empty(self, types: Sequence[TaskType]) -> Sequence[TaskType]:
        calls: list[Call] = [(keys.every[1:], []) for keys in map(_keys_of, types)]
        return _those(types, self._session.call(self._empty, calls), b"EMPTY")

    def held(
        self, task_type: TaskType, *, after: str, most: int
    ) -> tuple[str, Sequence[HeldEnvelope]]:
        calls: list[Call] = [([_keys_of(task_type).tasks], [after, most])]
        ((place, *words),) = self._session.call(self._list, calls)
        pairs = zip(words[::2], words[1::2], strict=True)
        tasks = [HeldEnvelope(member_in(member.decode()), raw) for member, raw in pairs]
        return place.decode(), tasks

    def renew_epochs(self) -> None:
        calls: list[Call] = [
            ([keys.marker, keys.state], []) for keys in map(_keys_of, self._types())
        ]
        self._session.call(self._renew_epoch, calls)

    def _types(self) -> Sequence[TaskType]:
        return [entry.name for entry in self._catalogue.entries()]

    def _all_keys(self, task_type: TaskType) -> Sequence[str]:
        keys, entry = _keys_of(task_type), self._catalogue.entry(task_type)
        rings = [keys.rings(task_type, one) for one in range(entry.partitions if entry else 0)]
        return [keys.marker, keys.rebuild, *keys.every[1:], keys.apart, *rings]

    def _keep_for(self, span: int, nonce: str, types: Sequence[TaskType]) -> Sequence[TaskType]:
        calls: list[Call] = [([keys.rebuild], [nonce, span]) for keys in map(_keys_of, types)]
        return _those(types, self._session.call(self._keep, calls), b"KEPT")


def _keys_of(task_type: TaskType) -> LaneKeys:
    return lane_keys(lane_of(task_type))


def _those(types: Sequence[TaskType], answers: Sequence[Any], expected: bytes) -> list[TaskType]:
    return [one for one, answer in zip(types, answers, strict=True) if answer == expected]


def _chunks(
    pairs: Iterable[tuple[str, T]], *, size: Callable[[T], int] = lambda _: 0
) -> Iterator[tuple[str, Sequence[T]]]:
    """Yield what goes into one call: values of the same name, not too many or too large."""
    by_name: defaultdict[str, list[T]] = defaultdict(list)
    for name, value in pairs:
        by_name[name].append(value)
    for name, values in by_name.items():
        for portion in _portions(values, size=size):
            yield name, portion


def _portions(values: Iterable[T], *, size: Callable[[T], int]) -> Iterator[Sequence[T]]:
    portion: list[T] = []
    total = 0
    for value in values:
        octets = size(value)
        is_full = len(portion) == _TASKS_IN_A_CALL or total + octets > _BYTES_IN_A_CALL
        if portion and is_full:
            yield portion
            portion, total = [], 0
        portion.append(value)
        total += octets
    if portion:
        yield portion


def _bytes_of(words: Sequence[Argument]) -> int:
    """Return the size of the envelope in what a script gets for a task."""
    envelope = words[3]
    return len(envelope) if isinstance(envelope, bytes) else 0


def _flat(groups: Iterable[Sequence[Argument]]) -> Iterator[Argument]:
    for group in groups:
        yield from group


def _place_of(envelope: Envelope) -> tuple[str, str, str]:
    return str(member_of(envelope)), f"{order_of(envelope):016}", str(line_of(envelope))


def _lane_of(task: Shelved | RawEnvelope) -> str:
    return lane_of(type_of(task.line) if isinstance(task, Shelved) else task.type)


def _from_the_shelf(task: Shelved | RawEnvelope) -> Sequence[Argument]:
    if isinstance(task, Shelved):
        return str(task.member), f"{task.order:016}", task.line, b""
    return (*_place_of(task.envelope), task.raw)


def _putting_back(task: PutBack) -> Sequence[Argument]:
    return str(task.member), task.look, "1" if task.alone else ""


def _filling(task: Filled | Shelved) -> Sequence[Argument]:
    if isinstance(task, Shelved):
        return (*_from_the_shelf(task), "")
    look_after = "" if task.look_after is None else in_ms(task.look_after)
    return (*_place_of(task.envelope), codec.encode(task.envelope), look_after)


def _asking(lane: str, members: Sequence[Member]) -> Call:
    keys = lane_keys(lane)
    return [keys.marker, keys.tasks], [*map(str, members)]


def _rule_of(pause: LanePause) -> str:
    return "lane=*" if pause.type is None else f"type={pause.type}"


def _is_cold(answer: Sequence[Any]) -> bool:
    return bool(answer[0] == b"COLD")


def _taken(words: Sequence[bytes]) -> tuple[TakenTask, ...]:
    return tuple(
        TakenTask(member=member_in(member.decode()), look=int(look), raw=raw)
        for member, look, raw in zip(words[::3], words[1::3], words[2::3], strict=True)
    )


def _watched(answer: Sequence[Any]) -> Watched:
    epoch, is_empty, count, *others = answer
    end = 3 * int(count)
    return Watched(
        epoch=epoch.decode(),
        is_empty=is_empty == b"1",
        tasks=_taken(others[:end]),
        wake=_wake_ups(others[end:]),
    )


def _wake_ups(names: Sequence[bytes]) -> tuple[WakeUp, ...]:
    return tuple(_wake_up(*name.decode().split("\t")) for name in names)


def _wake_up(task_type: str, partition: str) -> WakeUp:
    return WakeUp(TaskType(task_type), int(partition))


def _counted(answer: Sequence[Any]) -> LaneCount | Cold:
    if _is_cold(answer):
        return Cold()
    *counts, in_flight, taken_at, until = answer
    *classes, alone = [
        ClassCount(int(waiting), int(oldest) if oldest else None)
        for waiting, oldest in zip(counts[::2], counts[1::2], strict=True)
    ]
    return LaneCount(
        classes=dict(zip(sorted(Priority, reverse=True), classes, strict=True)),
        alone=alone,
        in_flight=int(in_flight),
        taken_at_ms=Millis(int(taken_at)) if taken_at else None,
        paused_until_ms=Millis(int(until)) if until else None,
    )
