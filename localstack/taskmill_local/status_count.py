"""Counts the ledger's tasks by status, limited to a small share of the ledger's time."""

import time
from collections.abc import Mapping
from typing import Any, Final

import psycopg

_SHORTEST_REST_SECONDS: Final = 0.2
_REST_PER_COST: Final = 20  # counting takes at most a twentieth of the ledger's time
_PATIENCE: Final[dict[str, Any]] = {
    "connect_timeout": 2,
    "tcp_user_timeout": 3_000,
    "options": "-c statement_timeout=5000",
}
_COUNT: Final = "SELECT status, count(*) FROM tasks GROUP BY status"


class StatusCount:
    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._connection: psycopg.Connection[tuple[str, int]] | None = None
        self._counts: Mapping[str, int] = {}
        self._look_again_at = 0.0

    def counts(self) -> Mapping[str, int]:
        """Return the latest counts by status; blocks, and serves one thread at a time."""
        began = time.monotonic()
        if began >= self._look_again_at:
            self._look()
            cost = time.monotonic() - began
            rest = max(_SHORTEST_REST_SECONDS, cost * _REST_PER_COST)
            self._look_again_at = time.monotonic() + rest
        return self._counts

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _look(self) -> None:
        try:
            if self._connection is None:
                self._connection = psycopg.connect(self._dsn, autocommit=True, **_PATIENCE)
            self._counts = dict(self._connection.execute(_COUNT).fetchall())
        except psycopg.Error:  # keep showing the last known figures
            self.close()
