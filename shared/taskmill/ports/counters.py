"""What adds up what happens."""

from typing import Protocol

from taskmill.domain.counting import Count, Span


class Counters(Protocol):
    """Adds up what happens. What is lost with a process is lost: the ledger holds the truth."""

    def count(self, what: Count, by: int = 1, **labels: str) -> None: ...

    def time(self, what: Span, *seconds: float, **labels: str) -> None: ...

    def flush(self) -> None:
        """Tell what was added up since the last time."""
