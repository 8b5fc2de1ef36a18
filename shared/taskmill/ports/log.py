"""How far the log reaches, and how far it was read."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from taskmill.domain.log import Reach
from taskmill.domain.topics import Reader


class LogEnds(Protocol):
    """How far the log reaches."""

    def ends(self) -> Mapping[tuple[str, int], int]: ...


class LogReaders(Protocol):
    """How far those have come who read the log."""

    def reach(self, readers: Sequence[Reader]) -> Mapping[tuple[Reader, int], Reach]:
        """Return it for each partition; a topic that is not there has none."""
        ...
