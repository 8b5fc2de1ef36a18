"""What is sent to the log."""

from collections.abc import Sequence
from typing import Protocol

from taskmill.domain.facts import Fact
from taskmill.domain.log import LogRecord
from taskmill.domain.refusal import Refusal
from taskmill.domain.task import Envelope
from taskmill.domain.wire import Sealed


class Bus(Protocol):
    """The log. Nothing sent counts before `flush` returns."""

    def is_shut(self) -> bool:
        """Tell whether it did not answer a moment ago: sending now would fail at once."""

    def send_pending(self, envelopes: Sequence[Envelope | Sealed]) -> None: ...

    def send_work(self, envelopes: Sequence[Envelope | Sealed]) -> None: ...

    def send_facts(self, facts: Sequence[Fact]) -> None: ...

    def send_parcel(self, topic: str, value: bytes) -> None: ...

    def send_undecodable(self, record: LogRecord, reason: str) -> None: ...

    def send_refused(self, record: LogRecord, refusal: Refusal) -> None: ...

    def flush(self) -> None: ...
