"""Far tasks and expiries, in PostgreSQL."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

import msgspec

from taskmill.core.task import Millis, TaskId
from taskmill.core.time import Expiry
from taskmill.ledger.projection import Row
from taskmill.stores.postgres import queries
from taskmill.stores.postgres.connection import Database
from taskmill.stores.postgres.whole_rows import whole_row

_AT_A_TIME = 500


class PostgresExpiries:
    def __init__(self, database: Database, *, at_a_time: int = _AT_A_TIME) -> None:
        self._database = database
        self._at_a_time = at_a_time
        self._list = queries.load("ledger/list_past_expiries")
        self._leave_begun = queries.load("ledger/remove_met_expiries")
        self._leave = queries.load("ledger/remove_expiries")

    def past(self) -> Iterator[Sequence[Expiry]]:
        with self._database.transaction() as connection:
            connection.execute(self._leave_begun)
        parameters: dict[str, Any] = {"after_ms": None, "after_id": None, "most": self._at_a_time}
        while rows := self._database.fetch(self._list, parameters):
            last = rows[-1]
            yield [
                Expiry(id=TaskId(row["id"]), expires_at_ms=Millis(row["expires_at_ms"]))
                for row in rows
            ]
            if len(rows) < self._at_a_time:
                return
            parameters |= {"after_ms": last["expires_at_ms"], "after_id": last["id"]}

    def leave(self, expiries: Sequence[Expiry]) -> None:
        entries = [{"task_id": one.id, "expires_at_ms": one.expires_at_ms} for one in expiries]
        with self._database.transaction() as connection:
            connection.execute(self._leave, {"seen": msgspec.json.encode(entries).decode()})


_ROWS_AT_A_TIME = 100
"""Each may have a payload of a quarter of a megabyte."""


class PostgresFarTasks:
    def __init__(self, database: Database, *, rows_at_a_time: int = _ROWS_AT_A_TIME) -> None:
        self._database = database
        self._at_a_time = rows_at_a_time
        self._coming = queries.load("ledger/list_coming_tasks")
        self._near = queries.load("ledger/bring_near")

    def coming(self, *, within: timedelta) -> Iterator[Sequence[Row]]:
        parameters: dict[str, Any] = {
            "ahead_seconds": within.total_seconds(),
            "after_ms": None,
            "after_id": None,
            "most": self._at_a_time,
        }
        while rows := [whole_row(row) for row in self._database.fetch(self._coming, parameters)]:
            yield rows
            if len(rows) < self._at_a_time:
                return
            parameters |= {"after_ms": rows[-1].due_at_ms, "after_id": rows[-1].id}

    def leave(self, rows: Sequence[Row]) -> None:
        entries = [
            {"task_id": row.id, "generation": row.generation, "turn": row.turn} for row in rows
        ]
        with self._database.transaction() as connection:
            connection.execute(self._near, {"seen": msgspec.json.encode(entries).decode()})
