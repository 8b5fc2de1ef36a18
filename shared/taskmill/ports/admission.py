"""How what was submitted becomes a task, or waits to become one."""

from collections.abc import Sequence
from typing import Protocol

from taskmill.domain.admission import Cleared, OwedKey, Verdict
from taskmill.domain.parking import Parked
from taskmill.domain.task import Envelope
from taskmill.domain.wire import Sealed


class Admission(Protocol):
    """Where a submission becomes a task, once per key."""

    def admit(self, envelopes: Sequence[Envelope]) -> Sequence[Verdict]: ...

    def clear(self, published: Sequence[OwedKey]) -> Sequence[Cleared]: ...


class Parking(Protocol):
    """Where tasks wait for a worker that takes their type."""

    def park(self, waiting: Sequence[Sealed]) -> Sequence[Parked]: ...
