"""Ports of recovery."""

from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Protocol

from msgspec import Struct

from taskmill.core.owed import Owed, OwedKey
from taskmill.core.task import Millis, TaskId
from taskmill.recovery.divergence import RepairAnswer, RepairOrder, TaskVersion
from taskmill.recovery.health import LaneHealth, ShardHealth
from taskmill.recovery.placement import Placement
from taskmill.recovery.restoration import HotView, Restoration


class Shards(Protocol):
    def check(self) -> Sequence[ShardHealth]:
        """Return the health of each shard."""
        ...


class LaneStates(Protocol):
    def check(self) -> Sequence[LaneHealth]:
        """Return the health of each deployed type's lane."""
        ...


class ColdShards(Protocol):
    """Shards that lost data, or may have. Each step requires the nonce of its rebuild."""

    def shard_of(self, task_id: TaskId) -> int: ...

    def are_some(self) -> bool: ...

    def begin(self, nonce: str) -> frozenset[int]: ...

    def keep(self, nonce: str, shards: Collection[int]) -> frozenset[int]: ...

    def held(self, shards: Collection[int]) -> Iterable[Sequence[TaskId]]: ...

    def restore(self, nonce: str, tasks: Sequence[HotView]) -> Sequence[Restoration]: ...

    def open(self, nonce: str, shards: Collection[int]) -> frozenset[int]: ...

    def leave(self, nonce: str, shards: Collection[int]) -> None:
        """Remove the nonce, so that another rebuild may begin at once."""
        ...


class Placements(Protocol):
    """The records of unfinished tasks whose lane is rebuilt."""

    def place(self, tasks: Sequence[HotView]) -> Sequence[Placement]:
        """Return where each belongs; a lease found lapsed is closed, and never extended again.

        What waits for a time that is still ahead is owed by the due set afterwards.
        """
        ...


class UnreadableKey(Struct, frozen=True, kw_only=True):
    """A key of the hot state that was found overwritten."""

    name: str
    id: TaskId | None
    """The task whose record it should be; None for a deleted key, whose shard became cold."""
    age_ms: Millis
    """How long ago it was found."""


class UnreadableKeys(Protocol):
    """Keys of the hot state that another client of Redis overwrote."""

    def found(self) -> Sequence[UnreadableKey]: ...

    def owed(self, ids: Sequence[TaskId]) -> Sequence[tuple[OwedKey, Owed]]:
        """Return the due entries of these tasks, whatever their records contained."""
        ...

    def drop(self, ids: Sequence[TaskId]) -> None:
        """Delete overwritten records, so that these tasks have none."""
        ...

    def leave(self, entries: Sequence[UnreadableKey]) -> int:
        """Remove these from the noted keys; return how many were noted."""
        ...


class Step(Protocol):
    """The next step of the window. It is committed at the end; nobody else takes it meanwhile."""

    def pages(self) -> Iterable[Sequence[TaskVersion]]: ...

    def note(self, ids: Sequence[TaskId]) -> None:
        """Note tasks to be checked again by any process: they are kept with the unfinished ones."""
        ...


class TaskVersions(Protocol):
    """Versions of tasks in the ledger; long unfinished tasks are kept separately."""

    def next_step(self) -> AbstractContextManager[Step | None]:
        """Hold the next step of the window over the age of tasks, unless somebody else does."""
        ...

    def young(self, *, since_ms: Millis) -> Iterable[Sequence[TaskVersion]]: ...

    def unfinished(self, *, after: TaskId | None, most: int) -> Sequence[TaskVersion]: ...

    def unsubmitted(self, *, age: timedelta, most: int) -> Sequence[TaskId]:
        """Return tasks with facts but without a submission, though submitted long ago."""
        ...

    def of(self, ids: Sequence[TaskId]) -> Sequence[TaskVersion]: ...

    def leave(self, ids: Sequence[TaskId]) -> None: ...


class Repairs(Protocol):
    """Updates records from the ledger, each only if it is still as it was read."""

    def repair(self, orders: Sequence[RepairOrder]) -> Sequence[RepairAnswer]: ...

    def relist(self) -> int:
        """Make owed entries due now if the due set does not name them; return their number."""
        ...
