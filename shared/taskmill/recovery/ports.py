"""Ports of recovery."""

from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Protocol

from msgspec import Struct

from taskmill.core.owed import Owed, OwedKey
from taskmill.core.task import Millis, TaskId
from taskmill.recovery.divergence import RepairAnswer, RepairOrder, Standing
from taskmill.recovery.health import ShardHealth
from taskmill.recovery.restoration import HotView, Restoration


class Shards(Protocol):
    def check(self) -> Sequence[ShardHealth]:
        """Say how each shard is."""
        ...


class ColdShards(Protocol):
    """The shards that forgot, or may have. Each step needs the word of the one who began."""

    def shard_of(self, task_id: TaskId) -> int: ...

    def are_some(self) -> bool: ...

    def begin(self, word: str) -> frozenset[int]: ...

    def keep(self, word: str, shards: Collection[int]) -> frozenset[int]: ...

    def held(self, shards: Collection[int]) -> Iterable[Sequence[TaskId]]: ...

    def restore(self, word: str, tasks: Sequence[HotView]) -> Sequence[Restoration]: ...

    def open(self, word: str, shards: Collection[int]) -> frozenset[int]: ...

    def leave(self, word: str, shards: Collection[int]) -> None:
        """Take the word back, so that another rebuild may begin at once."""
        ...


class SetApart(Struct, frozen=True, kw_only=True):
    """A key of the hot state that was found to be none of the queue's."""

    name: str
    id: TaskId | None
    """The task whose record it should be; None when it was removed, and its shard forgot."""
    age_ms: Millis
    """How long ago it was found."""


class UnreadableKeys(Protocol):
    """The keys of the hot state that somebody else overwrote."""

    def found(self) -> Sequence[SetApart]: ...

    def owed(self, ids: Sequence[TaskId]) -> Sequence[tuple[OwedKey, Owed]]:
        """Return what the due set owes of these tasks, whatever their records said."""
        ...

    def drop(self, ids: Sequence[TaskId]) -> None:
        """Remove what is no record, so that these tasks have none."""
        ...

    def leave(self, found: Sequence[SetApart]) -> int:
        """Note these no longer; return how many were noted until now."""
        ...


class Step(Protocol):
    """What the window passes next. It counts at the end; nobody else takes it meanwhile."""

    def pages(self) -> Iterable[Sequence[Standing]]: ...

    def note(self, ids: Sequence[TaskId]) -> None:
        """Let these be looked at again, whoever does it: they stand with the unfinished ones."""
        ...


class Standings(Protocol):
    """How far tasks are, by the ledger; what is unfinished for long stands apart."""

    def next_step(self) -> AbstractContextManager[Step | None]:
        """Hold the next step of the window over the age of tasks, if it is anybody's now."""
        ...

    def young(self, *, since_ms: Millis) -> Iterable[Sequence[Standing]]: ...

    def unfinished(self, *, after: TaskId | None, most: int) -> Sequence[Standing]: ...

    def unsubmitted(self, *, age: timedelta, most: int) -> Sequence[TaskId]:
        """Name those that only facts tell of, though they were submitted so long ago."""
        ...

    def of(self, ids: Sequence[TaskId]) -> Sequence[Standing]: ...

    def leave(self, ids: Sequence[TaskId]) -> None: ...


class Repairs(Protocol):
    """Raises records to what the ledger knows, each only when it is still as it was seen."""

    def repair(self, orders: Sequence[RepairOrder]) -> Sequence[RepairAnswer]: ...

    def relist(self) -> int:
        """Let be due now what is owed and not named by the due set; return how many entries."""
        ...
