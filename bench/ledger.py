"""The ledger's progress with the tasks of one measurement."""

import time
from typing import Any, Final

import psycopg

_DEADLINE_SECONDS: Final = 300
_SHORTEST_REST_SECONDS: Final = 0.02
_REST_PER_COST: Final = 20  # polling takes at most a twentieth of the ledger's time
# A row without a body, from a fact that came first, has no creation time: it is incomplete.
_DONE: Final = """
SELECT count(*) FROM tasks
WHERE tenant = 'default' AND created_at >= %s AND status IN ('succeeded', 'dead', 'cancelled')
"""


class Ledger:
    def __init__(self, dsn: str) -> None:
        self._connection: psycopg.Connection[Any] = psycopg.connect(dsn, autocommit=True)

    def now(self) -> Any:
        row = self._connection.execute("SELECT clock_timestamp()").fetchone()
        return row[0] if row else None

    def far(self) -> int:
        """Return how many tasks only the ledger keeps until their time comes near."""
        row = self._connection.execute("SELECT count(*) FROM far_tasks").fetchone()
        return row[0] if row else 0

    def shelved(self) -> int:
        """Return how many tasks only the ledger keeps because their lines are full."""
        row = self._connection.execute("SELECT count(*) FROM shelved_tasks").fetchone()
        return row[0] if row else 0

    def shelved_with_records(self) -> int:
        """Return how many of them Redis still has, too."""
        query = "SELECT count(*) FROM shelved_tasks WHERE has_record"
        row = self._connection.execute(query).fetchone()
        return row[0] if row else 0

    def wait_until_done(
        self, tasks: int, *, since: Any, patience: float = _DEADLINE_SECONDS
    ) -> float:
        """Return how many seconds it took until *tasks* created *since* then were complete."""
        began = time.monotonic()
        while True:
            glance = time.monotonic()
            row = self._connection.execute(_DONE, (since,)).fetchone()
            now = time.monotonic()
            count = row[0] if row else 0
            if count >= tasks:
                return now - began
            if now - began > patience:
                raise SystemExit(
                    f"{count:,} of {tasks:,} tasks are complete after {patience:.0f} s"
                )
            rest = (now - glance) * _REST_PER_COST
            time.sleep(max(_SHORTEST_REST_SECONDS, rest))  # looking must cost PostgreSQL little
