"""Ports of every subject: time, chance, the log and counters."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Protocol, TypeAlias

from taskmill.core.codec import Sealed
from taskmill.core.counting import Count, Span
from taskmill.core.facts import Fact
from taskmill.core.log import LogRecord, Reach
from taskmill.core.refusal import Refusal
from taskmill.core.task import Envelope, Millis
from taskmill.core.topics import Reader

Clock: TypeAlias = Callable[[], Millis]
Pause: TypeAlias = Callable[[timedelta], None]
Chance: TypeAlias = Callable[[], float]
"""A random number from 0 to 1."""


class Bus(Protocol):
    """The log. Nothing sent counts before `flush` returns."""

    def is_shut(self) -> bool:
        """Tell whether it did not answer a moment ago: sending now would fail at once."""

    def is_in_doubt(self) -> bool:
        """Tell whether it failed and has not answered since: whoever sends now is its trial."""

    def answers(self) -> bool:
        """Try whether it answers, without sending anything."""

    def send_pending(self, envelopes: Sequence[Envelope | Sealed]) -> None: ...

    def send_work(self, envelopes: Sequence[Envelope | Sealed]) -> None: ...

    def send_facts(self, facts: Sequence[Fact]) -> None: ...

    def send_parcel(self, topic: str, value: bytes) -> None: ...

    def send_undecodable(self, record: LogRecord, reason: str) -> None: ...

    def send_refused(self, record: LogRecord, refusal: Refusal) -> None: ...

    def flush(self) -> None: ...


class LogEnds(Protocol):
    """How far the log reaches."""

    def ends(self) -> Mapping[tuple[str, int], int]: ...


class LogReaders(Protocol):
    """How far those have come who read the log."""

    def reach(self, readers: Sequence[Reader]) -> Mapping[tuple[Reader, int], Reach]:
        """Return it for each partition; a topic that is not there has none."""
        ...


class Counters(Protocol):
    """Adds up what happens. What is lost with a process is lost: the ledger holds the truth."""

    def count(self, what: Count, by: int = 1, **labels: str) -> None: ...

    def time(self, what: Span, *seconds: float, **labels: str) -> None: ...

    def flush(self) -> None:
        """Tell what was added up since the last time."""
