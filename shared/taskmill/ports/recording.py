"""The ledger, for the one who writes it."""

from typing import Protocol

from taskmill.domain.projection import LedgerBatch


class Ledger(Protocol):
    """The durable projection of all facts; only the recorder writes it."""

    def record(self, batch: LedgerBatch) -> int:
        """Write *batch* whole; return how many rows came late or twice, and changed nothing."""
        ...
