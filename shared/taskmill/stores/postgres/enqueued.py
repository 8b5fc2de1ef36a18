"""Enqueued requests, in PostgreSQL."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Any

import psycopg

from taskmill.core.refusal import Dismissal, Refusal
from taskmill.core.task import Millis, TaskId
from taskmill.core.time import in_ms
from taskmill.stores.postgres import queries
from taskmill.stores.postgres.connection import Database
from taskmill.submission.enqueued import (
    HELD_AT_MOST,
    LARGEST_REQUEST,
    LEDGER_MAY_LAG,
    MAY_BE_FORGOTTEN,
    OCTETS_HELD,
    Backlog,
    Enqueue,
    Enqueued,
    LookBack,
    ParkedRequest,
)


class PostgresRequests:
    def __init__(self, database: Database, *, held_at_most: timedelta = HELD_AT_MOST) -> None:
        self._database = database
        self._limit = {"ms": in_ms(held_at_most)}
        self._add = queries.load("submission/add_enqueued")
        self._look = queries.load("submission/look_for_enqueued")
        self._limit_a_hold = queries.load("submission/limit_a_hold")
        self._hold = queries.load("submission/hold_enqueued")
        self._take_up = queries.load("submission/take_up_enqueued")
        self._find = queries.load("submission/find_enqueued")
        self._list_waiting = queries.load("submission/list_waiting_enqueued")
        self._list_parked = queries.load("submission/list_parked_enqueued")
        self._discard = queries.load("submission/discard_enqueued")
        self._count = queries.load("submission/count_enqueued")

    def add(self, requests: Sequence[Enqueue]) -> None:
        """Store all of them or none."""
        parameters = {
            "tenants": [one.tenant for one in requests],
            "ids": [one.task_id for one in requests],
            "submissions": [one.submission for one in requests],
            "requests": [one.request.decode() for one in requests],
        }
        self._database.run(lambda connection: connection.execute(self._add, parameters))

    def is_any_waiting(self) -> bool:
        return bool(self._database.fetch(self._look, {}))

    @contextmanager
    def held(self, *, most: int) -> Iterator["PostgresHeldRequests"]:
        with self._database.transaction() as connection:
            connection.execute(self._limit_a_hold, self._limit)
            parameters = {
                "most": most,
                "octets": OCTETS_HELD,
                "largest": LARGEST_REQUEST,
                "old_seconds": MAY_BE_FORGOTTEN.total_seconds(),
            }
            rows = connection.execute(self._hold, parameters).fetchall()
            yield PostgresHeldRequests(connection, [_enqueued(row) for row in rows])

    def take_up(self, types: Collection[str], *, parked_within: timedelta) -> int:
        parameters = {"types": list(types), "seconds": parked_within.total_seconds()}
        (row,) = self._database.fetch(self._take_up, parameters)
        return int(row["taken_up"])

    def find(self, task_id: TaskId) -> Enqueued | None:
        rows = self._database.fetch(self._find, {"id": task_id, "largest": LARGEST_REQUEST})
        return _enqueued(rows[0]) if rows else None

    def page(
        self, *, is_parked: bool, before: int | None, most: int, is_discarded: bool = False
    ) -> Sequence[Enqueued]:
        parameters = {"before": before, "most": most, "discarded": is_discarded}
        statement = self._list_parked if is_parked else self._list_waiting
        return [_enqueued(row) for row in self._database.fetch(statement, parameters)]

    def discard(self, task_id: TaskId, discard: Dismissal) -> Enqueued | None:
        parameters = {"id": task_id, "at_ms": discard.at_ms, "by": discard.by}
        rows = self._database.fetch(self._discard, parameters)
        latest = max(rows, key=itemgetter("parked_at", "id"), default=None)
        return None if latest is None else _enqueued(latest)

    def backlog(self, *, most: int) -> Backlog:
        (row,) = self._database.fetch(self._count, {"most": most})
        oldest_at = row["oldest_at"]
        return Backlog(
            waiting=row["waiting"],
            parked=row["parked"],
            oldest_at_ms=None if oldest_at is None else _ms(oldest_at),
        )


class PostgresHeldRequests:
    """Rows that nobody else may take during the transaction."""

    def __init__(self, connection: psycopg.Connection[Any], rows: Sequence[Enqueued]) -> None:
        self.rows = rows
        self._connection = connection

    def look_back(self, rows: Sequence[Enqueued]) -> LookBack:
        parameters = {
            "ids": [row.task_id for row in rows],
            "submissions": [row.submission for row in rows],
            "seconds": LEDGER_MAY_LAG.total_seconds(),
        }
        places = self._connection.execute(
            queries.load("submission/look_back"), parameters
        ).fetchall()
        return LookBack(
            found=frozenset(submission for row in places for submission in row["found"]),
            applied={(row["topic"], row["partition"]): row["position"] for row in places},
            recent=frozenset(
                (row["topic"], row["partition"]) for row in places if row["is_recent"]
            ),
        )

    def mark_done(self, rows: Sequence[Enqueued]) -> None:
        ids = [row.number for row in rows]
        self._connection.execute(queries.load("submission/mark_enqueued"), {"ids": ids})

    def park(self, row: Enqueued, why: Refusal) -> None:
        parameters = {
            "id": row.number,
            "reason": why.code,
            "detail": why.detail,
            "pointer": why.pointer,
        }
        self._connection.execute(queries.load("submission/park_enqueued"), parameters)

    def put_off(self, rows: Sequence[Enqueued], by: timedelta) -> None:
        parameters = {"ids": [row.number for row in rows], "seconds": by.total_seconds()}
        self._connection.execute(queries.load("submission/put_off_enqueued"), parameters)


def _enqueued(row: dict[str, Any]) -> Enqueued:
    return Enqueued(
        number=row["id"],
        tenant=row["tenant"],
        task_id=TaskId(str(row["task_id"])),
        submission=row["submission"],
        request=None if row["request"] is None else row["request"].encode(),
        octets=row["octets"],
        created_at_ms=_ms(row["created_at"]),
        parked=_parked(row),
        discarded=_discarded(row),
        may_be_forgotten=row.get("may_be_forgotten", False),
    )


def _parked(row: dict[str, Any]) -> ParkedRequest | None:
    if row["parked_at"] is None:
        return None
    return ParkedRequest(
        reason=row["parked_reason"],
        detail=row["parked_detail"],
        pointer=row["parked_pointer"],
        at_ms=_ms(row["parked_at"]),
    )


def _discarded(row: dict[str, Any]) -> Dismissal | None:
    at = row.get("discarded_at")
    return None if at is None else Dismissal(at_ms=_ms(at), by=row["discarded_by"])


def _ms(at: datetime) -> Millis:
    return Millis(int(at.timestamp() * 1000))
