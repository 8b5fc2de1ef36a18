"""Ports of insight."""

from typing import Protocol

from taskmill.insight.statistics import Figures


class LedgerFigures(Protocol):
    """Sums over the ledger, in bounded time."""

    def figures(self) -> Figures: ...
