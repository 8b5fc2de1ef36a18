"""Until when tasks must have begun, by the ledger."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from taskmill.adapters.postgres import queries
from taskmill.adapters.postgres.connection import Database
from taskmill.domain.delay import Expiry
from taskmill.domain.task import Millis, TaskId

_AT_A_TIME = 500


class PostgresExpiries:
    def __init__(self, database: Database, *, at_a_time: int = _AT_A_TIME) -> None:
        self._database = database
        self._at_a_time = at_a_time
        self._list = queries.load("list_past_expiries")
        self._leave_begun = queries.load("leave_met_expiries")
        self._leave = queries.load("leave_expiries")

    def past(self) -> Iterator[Sequence[Expiry]]:
        with self._database.transaction() as connection:
            connection.execute(self._leave_begun)
        asked: dict[str, Any] = {"after_ms": None, "after_id": None, "most": self._at_a_time}
        while rows := self._database.fetch(self._list, asked):
            last = rows[-1]
            yield [
                Expiry(id=TaskId(row["id"]), expires_at_ms=Millis(row["expires_at_ms"]))
                for row in rows
            ]
            if len(rows) < self._at_a_time:
                return
            asked |= {"after_ms": last["expires_at_ms"], "after_id": last["id"]}

    def leave(self, expiries: Sequence[Expiry]) -> None:
        seen = [{"task_id": one.id, "expires_at_ms": one.expires_at_ms} for one in expiries]
        with self._database.transaction() as connection:
            connection.execute(self._leave, {"seen": msgspec.json.encode(seen).decode()})
