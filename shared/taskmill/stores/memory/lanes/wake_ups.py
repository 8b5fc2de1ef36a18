"""Whom a lane wakes."""

from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from taskmill.core.task import TaskType
from taskmill.core.wake_up import WakeUp

_TASKS_A_PROCESS: Final = 8
"""One more process is started for so many waiting tasks."""

_ASKS_WITHIN: Final = 2_000
"""A partition whose process took within this time (ms) needs no wake-up."""

STARTS_WITHIN: Final = 1_000
"""A process has this long (ms) to start and take; then another wake-up is sent."""

_MOST_AHEAD: Final = 60_000
"""A time further ahead (ms) was noted by a clock that has gone back since."""

_Partition: TypeAlias = tuple[TaskType, int]


class WakeUps:
    """Which processes take, start, or wait for a ring."""

    def __init__(self) -> None:
        self._taking: dict[_Partition, int] = {}
        self._woken: dict[_Partition, int] = {}
        self._promises: dict[_Partition, int] = {}
        self._rings: set[_Partition] = set()

    def took(self, partition: _Partition, now: int, *, until: int | None) -> None:
        """Note a take, and until when its process waits for a ring; None if it ends."""
        self._woken.pop(partition, None)
        if until is None:
            self._taking.pop(partition, None)
        else:
            self._taking[partition] = now
        if until is not None and until > now:
            self._promises[partition] = until
        elif self._promises.pop(partition, None) is not None:
            self._rings.discard(partition)

    def asks_beside(self, partition: _Partition, now: int) -> bool:
        """Return whether a process of another partition asks, too."""
        others = (one for one in self._taking if one != partition)
        return any(_noted(self._taking, one, now) > now - _ASKS_WITHIN for one in others)

    def taken_at(self) -> int | None:
        return max(self._taking.values(), default=None)

    def is_rung(self, partition: _Partition) -> bool:
        """Return whether there is a ring for this partition, and use it up."""
        is_rung = partition in self._rings
        self._rings.discard(partition)
        return is_rung

    def wake(
        self, task_type: TaskType, ordinary: int, alone: int, partitions: int, now: int
    ) -> list[WakeUp]:
        """Ring for those that wait, and return where others are to be started.

        Nobody is rung for tasks that must run *alone*: a process that runs others cannot take them.
        """
        places = [(task_type, partition) for partition in range(partitions)]
        promised = [one for one in places if _noted(self._promises, one, now) >= now]
        rung = promised[: _processes(ordinary)]
        self._rings.update(rung)
        wanted = min(_processes(ordinary + alone), partitions) - len(rung)
        return list(self._wake_idle(task_type, wanted, partitions, now))

    def _wake_idle(
        self, task_type: TaskType, wanted: int, partitions: int, now: int
    ) -> Iterator[WakeUp]:
        places = [(task_type, partition) for partition in range(partitions)]
        silent = [one for one in places if _noted(self._taking, one, now) <= now - _ASKS_WITHIN]
        starting = [one for one in silent if _noted(self._woken, one, now) > now - STARTS_WITHIN]
        idle = [one for one in silent if one not in starting]
        for place in idle[: max(wanted - len(starting), 0)]:
            self._woken[place] = now
            yield WakeUp(*place)


def _processes(tasks: int) -> int:
    """Return how many processes so many tasks want."""
    return -(-tasks // _TASKS_A_PROCESS)


def _noted(times: Mapping[_Partition, int], partition: _Partition, now: int) -> int:
    """Return when something happened in a partition; 0 if that cannot be."""
    at = times.get(partition, 0)
    return 0 if at > now + _MOST_AHEAD else at
