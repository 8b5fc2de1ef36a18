"""The tasks that the ledger alone keeps until their time comes near."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

import msgspec

from taskmill.adapters.postgres import queries
from taskmill.adapters.postgres.connection import Database
from taskmill.adapters.postgres.whole import whole_row
from taskmill.domain.projection import Row

_ROWS_AT_A_TIME = 100
"""Each may have a payload of a quarter of a megabyte."""


class PostgresFarTasks:
    def __init__(self, database: Database, *, rows_at_a_time: int = _ROWS_AT_A_TIME) -> None:
        self._database = database
        self._at_a_time = rows_at_a_time
        self._coming = queries.load("list_coming_tasks")
        self._near = queries.load("bring_near")

    def coming(self, *, within: timedelta) -> Iterator[Sequence[Row]]:
        asked: dict[str, Any] = {
            "ahead_seconds": within.total_seconds(),
            "after_ms": None,
            "after_id": None,
            "most": self._at_a_time,
        }
        while rows := [whole_row(row) for row in self._database.fetch(self._coming, asked)]:
            yield rows
            if len(rows) < self._at_a_time:
                return
            asked |= {"after_ms": rows[-1].due_at_ms, "after_id": rows[-1].id}

    def leave(self, rows: Sequence[Row]) -> None:
        seen = [{"task_id": row.id, "generation": row.generation, "turn": row.turn} for row in rows]
        with self._database.transaction() as connection:
            connection.execute(self._near, {"seen": msgspec.json.encode(seen).decode()})
