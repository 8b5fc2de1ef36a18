"""The ledger's rows as they were told, for those who make the hot state anew."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

import msgspec
from msgspec import Raw
from msgspec.structs import replace
from psycopg.rows import DictRow

from taskmill.core.backoff import DEFAULT_RETRY, RetryPolicy
from taskmill.core.lifetimes import KEY_WINDOW, UNKEYED_RECORD
from taskmill.core.task import TaskId, Timing
from taskmill.ledger.projection import Body, Row
from taskmill.stores.postgres import queries
from taskmill.stores.postgres.connection import Database
from taskmill.stores.postgres.rows import pointer_in

_ROWS_AT_A_TIME = 500


class PostgresWholeRows:
    def __init__(
        self,
        database: Database,
        *,
        window: timedelta = KEY_WINDOW,
    ) -> None:
        self._database = database
        self._spans = {
            "window_seconds": window.total_seconds(),
            "record_seconds": UNKEYED_RECORD.total_seconds(),
        }
        self._young = queries.load("ledger/list_young_tasks")
        self._old = queries.load("ledger/list_old_tasks")
        self._far = queries.load("ledger/list_far_tasks")
        self._unlisted = queries.load("ledger/find_unlisted_tasks")
        self._find = queries.load("ledger/find_whole_tasks")
        self._applied = queries.load("insight/read_applied")

    def restorable(self, *, finished: bool) -> Iterator[Sequence[Row]]:
        """Read what the hot state is made of, some of it twice, a few hundred rows at a time."""
        for statement in (self._old, self._young):
            yield from self._pages(statement, self._spans | {"finished": finished})

    def far(self) -> Iterator[Sequence[Row]]:
        """Read what keys name of the tasks that the ledger alone keeps, without payloads."""
        yield from self._pages(self._far, {})

    def unlisted(self, ids: Sequence[TaskId]) -> Sequence[Row]:
        asked = self._spans | {"ids": list(ids)}
        return [whole_row(row) for row in self._database.fetch(self._unlisted, asked)]

    def of(self, ids: Sequence[TaskId]) -> Sequence[Row]:
        return [whole_row(row) for row in self._database.fetch(self._find, {"ids": list(ids)})]

    def _pages(self, statement: bytes, asked: Mapping[str, Any]) -> Iterator[Sequence[Row]]:
        with (
            self._database.transaction() as connection,
            connection.cursor(name="restorable") as cursor,
        ):
            cursor.execute(statement, asked)
            while rows := cursor.fetchmany(_ROWS_AT_A_TIME):
                yield [whole_row(row) for row in rows]

    def applied(self) -> Mapping[tuple[str, int], int]:
        rows = self._database.fetch(self._applied, {})
        return {(row["topic"], row["partition"]): row["position"] for row in rows}


def whole_row(columns: DictRow) -> Row:
    result = columns["result"]
    return replace(
        msgspec.convert(columns | {"result": None, "result_ref": None}, Row),
        result=None if result is None else Raw(result),
        result_ref=pointer_in(columns["result_ref"]),
        body=_body(columns),
    )


def _body(columns: DictRow) -> Body:
    retry, timing = columns["retry"], columns["timing"]
    return Body(
        submission=columns["submission"],
        submitted=columns["submitted"],
        fingerprint=columns["fingerprint"],
        idempotency_key=columns["idempotency_key"],
        payload=Raw(columns["payload"]),
        payload_ref=pointer_in(columns["payload_ref"]),
        payload_size=columns["payload_size"],
        metadata=columns["metadata"],
        max_attempts=columns["max_attempts"],
        timeout_seconds=columns["timeout_seconds"],
        retry=DEFAULT_RETRY if retry is None else _decode_retry(retry),
        created_at_ms=columns["created_at_ms"],
        timing=None if timing is None else _decode_timing(timing),
        changed=columns["changed"],
    )


_decode_retry = msgspec.json.Decoder(RetryPolicy).decode
_decode_timing = msgspec.json.Decoder(Timing).decode
