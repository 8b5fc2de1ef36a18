"""Removes the records of finished tasks after their retention time."""

from typing import Final, Protocol

from taskmill.dispatch.ports import DueSet

MOST_PER_SHARD: Final = 100
ROUNDS: Final = 10


class ExpiredStores(Protocol):
    """Ports for removing expired records."""

    @property
    def due(self) -> DueSet: ...


class ExpiredRecords:
    def __init__(self, stores: ExpiredStores) -> None:
        self._stores = stores

    def forget(self) -> int:
        """Return how many were removed; the rest is left to the next run."""
        forgotten = 0
        for _ in range(ROUNDS):
            count = self._stores.due.forget_expired(most=MOST_PER_SHARD)
            forgotten += count
            if count < MOST_PER_SHARD:  # no shard had more
                break
        return forgotten
