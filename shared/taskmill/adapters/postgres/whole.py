"""The ledger's rows as they were told, for those who make the hot state anew."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

import msgspec
from msgspec import Raw

from taskmill.adapters.postgres import queries
from taskmill.adapters.postgres.connection import Database
from taskmill.domain.backoff import DEFAULT_RETRY, RetryPolicy
from taskmill.domain.projection import Body, Row
from taskmill.domain.retention import KEY_WINDOW, UNKEYED_RECORD
from taskmill.domain.task import TaskId, Timing

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
        self._young = queries.load("list_young_tasks")
        self._old = queries.load("list_old_tasks")
        self._far = queries.load("list_far_tasks")
        self._find = queries.load("find_whole_tasks")
        self._applied = queries.load("read_applied")

    def restorable(self, *, finished: bool) -> Iterator[Sequence[Row]]:
        """Read what the hot state is made of, some of it twice, a few hundred rows at a time."""
        for statement in (self._old, self._young):
            yield from self._pages(statement, self._spans | {"finished": finished})

    def far(self) -> Iterator[Sequence[Row]]:
        """Read what keys name of the tasks that the ledger alone keeps, without payloads."""
        yield from self._pages(self._far, {})

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


def whole_row(columns: Mapping[str, Any]) -> Row:
    told = {name: value for name, value in columns.items() if name not in _BODY}
    result = told.pop("result")
    return msgspec.structs.replace(
        msgspec.convert(told, Row),
        result=None if result is None else Raw(result.encode()),
        body=_body(columns),
    )


def _body(columns: Mapping[str, Any]) -> Body:
    told = {name: columns[name] for name in _BODY}
    retry, timing = told["retry"], told["timing"]
    return Body(
        **told
        | {
            "payload": Raw(told["payload"].encode()),
            "metadata": msgspec.json.decode(told["metadata"]),
            "retry": msgspec.json.decode(retry, type=RetryPolicy) if retry else DEFAULT_RETRY,
            "timing": msgspec.json.decode(timing, type=Timing) if timing else None,
        }
    )


_BODY = frozenset(Body.__struct_fields__)
