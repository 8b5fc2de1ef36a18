"""The ledger, for readers."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw
from msgspec.structs import replace
from psycopg.rows import DictRow

from taskmill.core.task import Millis, ShownSpec, TaskId
from taskmill.core.topics import FEEDS
from taskmill.core.view import TaskView
from taskmill.ledger.listing import After, DeadLetter, DeadPage, History, Page, TaskFilter
from taskmill.ledger.projection import HistoryEntry, Row, in_order
from taskmill.recovery.restoration import task_view
from taskmill.stores.postgres import queries
from taskmill.stores.postgres.connection import Database


class PostgresRows:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._find = queries.load("ledger/find_task")
        self._find_shelved = queries.load("ledger/find_shelved_task")
        self._payload = queries.load("ledger/find_payload")
        self._list = queries.load("ledger/list_tasks")
        self._dead = queries.load("ledger/list_dead_letters")
        self._history = queries.load("ledger/read_history")
        self._applied = queries.load("insight/read_applied")

    def find(self, task_id: TaskId) -> TaskView | None:
        rows = self._database.fetch(self._find, {"id": task_id})
        return _view(rows[0]) if rows else None

    def fingerprint(self, task_id: TaskId) -> str | None:
        rows = self._database.fetch(self._find, {"id": task_id})
        return rows[0]["fingerprint"] if rows else None

    def is_shelved(self, task_id: TaskId) -> bool:
        return bool(self._database.fetch(self._find_shelved, {"id": task_id}))

    def payload(self, task_id: TaskId, generation: int) -> bytes | None:
        rows = self._database.fetch(self._payload, {"id": task_id, "generation": generation})
        return rows[0]["payload"].encode() if rows else None

    def page(self, criteria: TaskFilter) -> Page:
        as_of_ms = self._as_of_ms()  # read first, since the ledger advances meanwhile
        rows = self._database.fetch(self._list, _parameters(criteria))
        views = [_view(row) for row in rows[: criteria.limit]]
        has_more = len(rows) > criteria.limit
        last = views[-1] if views and has_more else None
        return Page(
            tasks=views,
            next=After(last.spec.created_at_ms, last.id) if last else None,
            as_of_ms=as_of_ms,
        )

    def dead(self, criteria: TaskFilter) -> DeadPage:
        as_of_ms = self._as_of_ms()
        rows = self._database.fetch(self._dead, _parameters(criteria) | _dead_parameters(criteria))
        letters = [DeadLetter(_view(row), row["first_failed_at_ms"]) for row in rows]
        last = rows[criteria.limit - 1] if len(rows) > criteria.limit else None
        return DeadPage(
            letters=letters[: criteria.limit],
            next=After(last["finished_at_ms"], TaskId(last["id"])) if last else None,
            as_of_ms=as_of_ms,
        )

    def history_of(self, task_id: TaskId, *, most: int) -> History:
        as_of_ms = self._as_of_ms()
        rows = self._database.fetch(self._history, {"id": task_id, "limit": most})
        entries = (HistoryEntry(**row | {"body": Raw(row["body"].encode())}) for row in rows)
        return History(in_order(entries), as_of_ms)

    def _as_of_ms(self) -> Millis | None:
        return as_of(self._database)

    def applied(self) -> Mapping[tuple[str, int], int]:
        rows = self._database.fetch(self._applied, {})
        return {(row["topic"], row["partition"]): row["position"] for row in rows}


def as_of(database: Database) -> Millis | None:
    """Return up to when the ledger contains everything that was accepted."""
    rows = database.fetch(queries.load("insight/read_as_of"), {"feeds": list(FEEDS)})
    return rows[0]["as_of_ms"] if rows else None


def _parameters(criteria: TaskFilter) -> dict[str, Any]:
    return {
        "tenant": criteria.tenant,
        "type": criteria.type,
        "status": criteria.status,
        "metadata": msgspec.json.encode(criteria.metadata).decode(),
        "created_after_ms": criteria.created_after_ms,
        "created_before_ms": criteria.created_before_ms,
        "after_ms": criteria.after.at_ms if criteria.after else None,
        "after_id": criteria.after.id if criteria.after else None,
        "limit": criteria.limit + 1,  # one extra row shows whether there is a next page
    }


def _dead_parameters(criteria: TaskFilter) -> dict[str, Any]:
    return {
        "reason": criteria.reason,
        "error_class": criteria.error_class,
        "dead_after_ms": criteria.dead_after_ms,
        "dead_before_ms": criteria.dead_before_ms,
    }


def _view(columns: DictRow) -> TaskView:
    return task_view(row_in(columns), msgspec.convert(columns, ShownSpec))


def row_in(columns: DictRow) -> Row:
    """Return a task's state; JSON values stay undecoded."""
    result = columns["result"]
    row = msgspec.convert(columns | {"result": None}, Row)
    return row if result is None else replace(row, result=Raw(result))
