"""Ports used by every subject: time, randomness, the log and counters."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Protocol, TypeAlias

from taskmill.core.codec import RawEnvelope
from taskmill.core.counting import Count, Gauge, Span
from taskmill.core.facts import Fact
from taskmill.core.log import LogRecord, Reach
from taskmill.core.refusal import Refusal
from taskmill.core.task import Envelope, Millis
from taskmill.core.topics import Reader
from taskmill.core.wake_up import WakeUp

Clock: TypeAlias = Callable[[], Millis]
Pause: TypeAlias = Callable[[timedelta], None]
Chance: TypeAlias = Callable[[], float]
"""A random number from 0 to 1."""


class Bus(Protocol):
    """The log. Nothing sent counts before `flush` returns."""

    def is_shut(self) -> bool:
        """Return whether it recently failed to respond: sending now would fail at once."""

    def is_in_doubt(self) -> bool:
        """Return whether it failed and has not responded since: the next send is a trial."""

    def answers(self) -> bool:
        """Test whether it responds, without sending anything."""

    def send_pending(self, envelopes: Sequence[Envelope | RawEnvelope]) -> None: ...

    def send_wake_ups(self, wake_ups: Sequence[WakeUp]) -> None:
        """Send a record without content to each type and partition."""
        ...

    def send_facts(self, facts: Sequence[Fact]) -> None: ...

    def send_batch(self, topic: str, value: bytes) -> None: ...

    def send_undecodable(self, record: LogRecord, reason: str) -> None: ...

    def send_refused(self, record: LogRecord, refusal: Refusal) -> None: ...

    def flush(self) -> None: ...

    def is_flushed(self) -> bool:
        """Return whether a `flush` would not have to wait; raise if it would fail."""
        ...

    @property
    def drops(self) -> int:
        """Return how often whatever was sent and not flushed was lost: with each failure.

        It may be the failure of another call, such as that of a wake-up, about which nobody cares.
        """
        ...


class LogEnds(Protocol):
    """End offsets of the log."""

    def ends(self) -> Mapping[tuple[str, int], int]: ...


class LogReaders(Protocol):
    """Committed positions of the log's readers."""

    def reach(self, readers: Sequence[Reader]) -> Mapping[tuple[Reader, int], Reach]:
        """Return the reach for each partition; a missing topic has none."""
        ...


class Counters(Protocol):
    """Adds up events. Counts are lost with their process: the ledger is authoritative."""

    def count(self, what: Count, by: int = 1, **labels: str) -> None: ...

    def time(self, what: Span, *seconds: float, **labels: str) -> None: ...

    def measure(self, what: Gauge, value: float, **labels: str) -> None:
        """Note a present value, which replaces the one before."""
        ...

    def flush(self) -> None:
        """Report everything added up since the last flush."""
