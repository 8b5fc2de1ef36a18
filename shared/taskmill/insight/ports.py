"""Ports of insight."""

from typing import Protocol

from taskmill.insight.statistics import Figures


class LedgerFigures(Protocol):
    """Aggregates over the ledger, in bounded time."""

    def figures(self) -> Figures: ...
