"""Sums over the ledger."""

from typing import Protocol

from taskmill.domain.statistics import Figures


class LedgerFigures(Protocol):
    """Sums over the ledger, in bounded time."""

    def figures(self) -> Figures: ...
