"""Metrics of lanes: what enters, is taken, comes back and leaves, and whom that wakes."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from taskmill.core.counting import Count
from taskmill.core.ports import Counters
from taskmill.core.wake_up import WakeUp
from taskmill.lanes.lane import Enter, Leave, PutBack, Shelved, Take, TakeAnswer, Watched, type_of
from taskmill.stores.counted.tasks import Call, Watchers, by_answer, tally

if TYPE_CHECKING:  # only annotations need these
    from taskmill.core.codec import RawEnvelope
    from taskmill.core.owed import Cold
    from taskmill.core.task import TaskType


def _woken(counters: Counters, wake: Iterable[WakeUp]) -> None:
    for task_type, count in tally(one.type for one in wake):
        counters.count(Count.WAKE_UPS, count, type=task_type)


def _entered(counters: Counters, tasks: "Sequence[RawEnvelope]", enter: Enter) -> None:
    _count_entered(counters, [task.type for task in tasks], enter)


def _brought_in(counters: Counters, tasks: "Sequence[Shelved | RawEnvelope]", enter: Enter) -> None:
    types = [type_of(one.line) if isinstance(one, Shelved) else one.type for one in tasks]
    _count_entered(counters, types, enter)


def _count_entered(counters: Counters, types: "Sequence[TaskType]", enter: Enter) -> None:
    pairs = zip(types, map(str, enter.answers), strict=True)
    for (task_type, answer), count in tally(pairs):
        counters.count(Count.ENTERED, count, type=task_type, answer=answer)
    _woken(counters, enter.wake)


def _taken(counters: Counters, take: Take, taken: "TakeAnswer | Cold") -> None:
    if not isinstance(taken, TakeAnswer):
        return
    if taken.tasks:
        counters.count(Count.TAKEN, len(taken.tasks), type=take.type)
    if left := sum(one.epoch == taken.epoch for one in take.leaves):
        counters.count(Count.LEFT, left, type=take.type)
    _woken(counters, taken.wake)


def _leaving(call: Call, counters: Counters) -> Call:
    def watched(task_type: "TaskType", leaves: Sequence[Leave]) -> Any:
        call(task_type, leaves)
        if leaves:
            counters.count(Count.LEFT, len(leaves), type=task_type)

    return watched


def _put_back(counters: Counters, tasks: Sequence[PutBack], wake: Sequence[WakeUp]) -> None:
    for task_type, count in tally(task.type for task in tasks):
        counters.count(Count.PUT_BACK, count, type=task_type)
    _woken(counters, wake)


def _watched(counters: Counters, _: object, lanes: "Sequence[tuple[TaskType, Watched]]") -> None:
    _woken(counters, (wake_up for _, watched in lanes for wake_up in watched.wake))


def _ruled(counters: Counters, _pauses: object, wake: Sequence[WakeUp]) -> None:
    _woken(counters, wake)


LANES: Final[Watchers] = {
    "enter": by_answer(_entered),
    "bring_in": by_answer(_brought_in),
    "take": by_answer(_taken),
    "leave": _leaving,
    "put_back": by_answer(_put_back),
    "watch": by_answer(_watched),
    "set_pauses": by_answer(_ruled),
}
