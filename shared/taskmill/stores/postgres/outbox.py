"""The outbox, in PostgreSQL."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import msgspec
import psycopg
from msgspec import Raw

from taskmill.core import codec
from taskmill.core.task import Envelope, Millis, TaskId
from taskmill.stores.postgres import queries
from taskmill.stores.postgres.connection import Database
from taskmill.submission.outbox import OUTBOX_CAP, Lost, OutboxBacklog, ParkedTask, Unsent

_SECONDS_THAT_A_COUNT_HOLDS = 1.0
_WHILE_SUBMITTING = timedelta(seconds=2)
"""A request waits no longer than this for the outbox, and nothing is decided so late."""


class PostgresOutbox:
    def __init__(self, database: Database, *, cap: int = OUTBOX_CAP) -> None:
        self._database = database
        self._cap = cap
        self._unsent = 0
        self._counted_at = float("-inf")
        self._add = queries.load("submission/add_to_outbox")
        self._count = queries.load("submission/count_unsent")
        self._find = queries.load("submission/find_unsent")
        self._list_parked = queries.load("submission/list_parked_unsent")
        self._backlog = queries.load("submission/count_outbox")
        self._list = queries.load("submission/list_unsent")
        self._oldest = queries.load("submission/find_oldest_unsent")
        self._hold = queries.load("submission/hold_unsent")

    def has_room(self, count: int) -> bool:
        """Return whether that many more rows may be added.

        A count is cached for a moment while less than half is full; after that each process counts
        again, since others fill it too.
        """
        now = time.monotonic()
        is_old = now - self._counted_at > _SECONDS_THAT_A_COUNT_HOLDS
        if is_old or self._unsent + count > self._cap // 2:
            parameters = {"most": self._cap}
            ((row),) = self._database.fetch(self._count, parameters, within=_WHILE_SUBMITTING)
            self._unsent, self._counted_at = row["unsent"], now
        return self._unsent + count <= self._cap

    def add(self, envelopes: Sequence[Envelope]) -> None:
        """Store all of them or none; a row added again is stored once."""
        rows = [
            {
                "task_id": one.id,
                "submission": one.submission,
                "generation": one.generation,
                "envelope": Raw(codec.encode(one)),
                "fingerprint": one.fingerprint,
            }
            for one in envelopes
        ]
        parameters = {"rows": msgspec.json.encode(rows).decode()}
        self._database.run(
            lambda connection: connection.execute(self._add, parameters), within=_WHILE_SUBMITTING
        )
        self._unsent += len(rows)

    def find(self, task_id: TaskId) -> Envelope | Lost | None:
        rows = self._database.fetch(self._find, {"id": task_id}, within=_WHILE_SUBMITTING)
        if not rows:
            return None
        why = rows[0]["parked_reason"]
        return codec.open_envelope(rows[0]["envelope"].encode()) if why is None else Lost(why)

    def parked(self, *, most: int) -> Sequence[ParkedTask]:
        return [
            ParkedTask(task_id=TaskId(str(row["task_id"])), why=row["parked_reason"])
            for row in self._database.fetch(self._list_parked, {"most": most})
        ]

    def backlog(self, *, most: int) -> OutboxBacklog:
        (row,) = self._database.fetch(self._backlog, {"most": most})
        return OutboxBacklog(waiting=row["waiting"], parked=row["parked"])

    def unsent(self, *, after: int, most: int) -> Sequence[Unsent]:
        return [
            _unsent(row) for row in self._database.fetch(self._list, {"after": after, "most": most})
        ]

    def waits_since(self) -> Millis | None:
        rows = self._database.fetch(self._oldest, {})
        return rows[0]["since_ms"] if rows else None

    @contextmanager
    def held(self, *, most: int) -> Iterator["PostgresHeld"]:
        with self._database.transaction() as connection:
            rows = connection.execute(self._hold, {"most": most}).fetchall()
            yield PostgresHeld(connection, [_unsent(row) for row in rows])


class PostgresHeld:
    """Rows that nobody else may publish during the transaction."""

    def __init__(self, connection: psycopg.Connection[Any], rows: Sequence[Unsent]) -> None:
        self.rows = rows
        self._connection = connection

    def mark_published(self, rows: Sequence[Unsent]) -> None:
        ids = [row.number for row in rows]
        self._connection.execute(queries.load("submission/mark_published"), {"ids": ids})

    def park(self, row: Unsent, reason: str) -> None:
        parameters = {"id": row.number, "reason": reason}
        self._connection.execute(queries.load("submission/park_unsent"), parameters)


def _unsent(row: dict[str, Any]) -> Unsent:
    return Unsent(number=row["id"], envelope=row["envelope"].encode())
