"""A record as the log gives it."""

from collections.abc import Mapping
from dataclasses import dataclass

from taskmill.domain.lease import Position
from taskmill.domain.task import Millis

DEAD_LETTER: Mapping[str, bytes] = {"kind": b"dead_letter"}
"""The headers of a death's copy on `tasks.dlq`, where all else was never a task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRecord:
    position: Position
    at_ms: Millis
    value: bytes | None
    headers: Mapping[str, bytes]


def is_dead_letter(record: LogRecord) -> bool:
    return record.headers.get("kind") == DEAD_LETTER["kind"]


@dataclass(frozen=True, slots=True)
class Reach:
    """What of a partition is there, and how far a reader has come in it."""

    begin: int
    end: int
    committed: int | None
    """The next record that the reader wants; None when it has not said so yet."""

    @property
    def lag(self) -> int:
        """Return how many records wait; what retention took away waits for nobody."""
        return max(self.end - max(self.begin, self.committed or 0), 0)
