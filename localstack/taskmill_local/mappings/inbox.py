"""Receives what a feed reads."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from taskmill_local.mappings.event import Record


class Inbox(Protocol):
    """All methods are called on the event loop."""

    def arrived(self, records: Mapping[int, list[Record]]) -> None: ...

    def assigned(self, committed: Mapping[int, int | None]) -> None: ...

    async def released(self, partitions: Iterable[int]) -> Mapping[int, int]:
        """Give up the partitions and return their uncommitted offsets."""

    def lost(self, partitions: Iterable[int]) -> None: ...

    def committed(self, offsets: Mapping[int, int | None]) -> None:
        """Record committed offsets; None stands for one that was refused."""

    def troubled(self, sentence: str) -> None: ...
