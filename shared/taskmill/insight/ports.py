"""What insight needs of the world."""

from typing import Protocol

from taskmill.insight.counting import Count, Span
from taskmill.insight.statistics import Figures


class Counters(Protocol):
    """Adds up what happens. What is lost with a process is lost: the ledger holds the truth."""

    def count(self, what: Count, by: int = 1, **labels: str) -> None: ...

    def time(self, what: Span, *seconds: float, **labels: str) -> None: ...

    def flush(self) -> None:
        """Tell what was added up since the last time."""


class LedgerFigures(Protocol):
    """Sums over the ledger, in bounded time."""

    def figures(self) -> Figures: ...
