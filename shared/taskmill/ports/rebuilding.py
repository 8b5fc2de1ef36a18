"""What a Redis that forgot is rebuilt from, and how."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

from taskmill.domain.projection import Row
from taskmill.domain.restoration import HotView, Restoration
from taskmill.domain.task import TaskId


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


class WholeRows(Protocol):
    """The rows as they were told, for those who make the hot state anew."""

    def restorable(self, *, finished: bool) -> Iterable[Sequence[Row]]: ...

    def far(self) -> Iterable[Sequence[Row]]:
        """Give what keys name of the tasks that it alone keeps; their payloads do not count."""
        ...

    def unlisted(self, ids: Sequence[TaskId]) -> Sequence[Row]:
        """Return those of *ids* that neither `restorable` nor `far` need name."""
        ...

    def of(self, ids: Sequence[TaskId]) -> Sequence[Row]: ...

    def applied(self) -> Mapping[tuple[str, int], int]: ...
