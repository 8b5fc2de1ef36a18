"""Complete ledger rows, for rebuilding the hot state."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import timedelta
from typing import Any

import msgspec
from msgspec import Raw
from msgspec.structs import replace
from psycopg.rows import DictRow

from taskmill.core.lifetimes import KEY_WINDOW, UNKEYED_RECORD
from taskmill.core.task import Spec, TaskId, TaskType
from taskmill.ledger.projection import Row
from taskmill.stores.postgres import queries
from taskmill.stores.postgres.connection import Database
from taskmill.stores.postgres.rows import row_in

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
        self._unfinished = queries.load("ledger/list_unfinished_tasks")
        self._far = queries.load("ledger/list_far_tasks")
        self._unlisted = queries.load("ledger/find_unlisted_tasks")
        self._find = queries.load("ledger/find_whole_tasks")
        self._applied = queries.load("insight/read_applied")

    def restorable(self, *, finished: bool) -> Iterator[Sequence[Row]]:
        """Yield the rows from which the hot state is built, a few hundred at a time, some twice."""
        for statement in (self._old, self._young):
            yield from self._pages(statement, self._spans | {"finished": finished})

    def unfinished(self, types: Collection[TaskType]) -> Iterator[Sequence[Row]]:
        """Yield the unfinished tasks of these types, a few hundred at a time, except far ones."""
        yield from self._pages(self._unfinished, {"types": sorted(types)})

    def far(self) -> Iterator[Sequence[Row]]:
        """Yield what keys need of the tasks kept only in the ledger, without payloads."""
        yield from self._pages(self._far, {})

    def unlisted(self, ids: Sequence[TaskId]) -> Sequence[Row]:
        parameters = self._spans | {"ids": list(ids)}
        return [whole_row(row) for row in self._database.fetch(self._unlisted, parameters)]

    def of(self, ids: Sequence[TaskId]) -> Sequence[Row]:
        return [whole_row(row) for row in self._database.fetch(self._find, {"ids": list(ids)})]

    def _pages(self, statement: bytes, parameters: Mapping[str, Any]) -> Iterator[Sequence[Row]]:
        with (
            closing(self._database.another()) as database,  # the reader of a page may write
            database.transaction() as connection,
            connection.cursor(name="restorable") as cursor,
        ):
            cursor.execute(statement, parameters)
            while rows := cursor.fetchmany(_ROWS_AT_A_TIME):
                yield [whole_row(row) for row in rows]

    def applied(self) -> Mapping[tuple[str, int], int]:
        rows = self._database.fetch(self._applied, {})
        return {(row["topic"], row["partition"]): row["position"] for row in rows}


def whole_row(columns: DictRow) -> Row:
    """Return a row with its spec; a null column takes its value from the spec."""
    known = {name: value for name, value in columns.items() if value is not None}
    spec = msgspec.convert(known | {"payload": Raw(columns["payload"])}, Spec)
    return replace(row_in(columns), spec=spec)
