"""Where a feed brings what it reads."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from taskmill_local.mappings.event import Record


class Inbox(Protocol):
    """All of it is called on the event loop."""

    def arrived(self, records: Mapping[int, list[Record]]) -> None: ...

    def assigned(self, committed: Mapping[int, int | None]) -> None: ...

    async def released(self, partitions: Iterable[int]) -> Mapping[int, int]:
        """Give up the partitions and return what is still to be committed for them."""

    def lost(self, partitions: Iterable[int]) -> None: ...

    def committed(self, offsets: Mapping[int, int | None]) -> None:
        """Take note of offsets that were committed; None stands for one that was refused."""

    def troubled(self, sentence: str) -> None: ...
