"""The ledger, for readers."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw

from taskmill.core.pointers import Pointer
from taskmill.core.task import About, Millis, Status, TaskId, Timing
from taskmill.core.view import Ending, TaskView, Waiting
from taskmill.ledger.listing import After, DeadLetter, DeadPage, History, Page, TaskFilter
from taskmill.ledger.projection import HistoryEntry, in_order
from taskmill.stores.postgres import queries
from taskmill.stores.postgres.connection import Database


class PostgresRows:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._find = queries.load("ledger/find_task")
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

    def payload(self, task_id: TaskId) -> bytes | None:
        rows = self._database.fetch(self._payload, {"id": task_id})
        return rows[0]["payload"].encode() if rows else None

    def page(self, wanted: TaskFilter) -> Page:
        rows = self._database.fetch(self._list, _asked(wanted))
        views = [_view(row) for row in rows[: wanted.limit]]
        has_more = len(rows) > wanted.limit
        last = views[-1] if views and has_more else None
        return Page(
            tasks=views,
            next=After(last.about.created_at_ms, last.id) if last else None,
            as_of_ms=self._as_of_ms(),
        )

    def dead(self, wanted: TaskFilter) -> DeadPage:
        rows = self._database.fetch(self._dead, _asked(wanted) | _asked_of_the_dead(wanted))
        letters = [DeadLetter(_view(row), row["first_failed_at_ms"]) for row in rows]
        last = rows[wanted.limit - 1] if len(rows) > wanted.limit else None
        return DeadPage(
            letters=letters[: wanted.limit],
            next=After(last["finished_at_ms"], TaskId(last["id"])) if last else None,
            as_of_ms=self._as_of_ms(),
        )

    def history_of(self, task_id: TaskId, *, most: int) -> History:
        rows = self._database.fetch(self._history, {"id": task_id, "limit": most})
        entries = (HistoryEntry(**row | {"body": Raw(row["body"].encode())}) for row in rows)
        return History(in_order(entries), self._as_of_ms())

    def _as_of_ms(self) -> Millis | None:
        as_of = [row["as_of_ms"] for row in self._database.fetch(self._applied, {})]
        return max(as_of, default=None)

    def applied(self) -> Mapping[tuple[str, int], int]:
        rows = self._database.fetch(self._applied, {})
        return {(row["topic"], row["partition"]): row["position"] for row in rows}


def _asked(wanted: TaskFilter) -> dict[str, Any]:
    return {
        "tenant": wanted.tenant,
        "type": wanted.type,
        "status": wanted.status,
        "metadata": msgspec.json.encode(wanted.metadata).decode(),
        "created_after_ms": wanted.created_after_ms,
        "created_before_ms": wanted.created_before_ms,
        "after_ms": wanted.after.at_ms if wanted.after else None,
        "after_id": wanted.after.id if wanted.after else None,
        "limit": wanted.limit + 1,  # one more tells whether there is a next page
    }


def _asked_of_the_dead(wanted: TaskFilter) -> dict[str, Any]:
    return {
        "reason": wanted.reason,
        "error_class": wanted.error_class,
        "dead_after_ms": wanted.dead_after_ms,
        "dead_before_ms": wanted.dead_before_ms,
    }


def _view(row: Mapping[str, Any]) -> TaskView:
    timing = row["timing"]
    return TaskView(
        id=TaskId(row["id"]),
        about=About(
            type=row["type"],
            tenant=row["tenant"],
            idempotency_key=row["idempotency_key"],
            created_at_ms=row["created_at_ms"],
            max_attempts=row["max_attempts"],
            payload_size=row["payload_size"],
            metadata=row["metadata"],
            timing=msgspec.json.decode(timing, type=Timing) if timing else None,
            payload_ref=pointer_in(row["payload_ref"]),
        ),
        status=Status(row["status"]),
        generation=row["generation"],
        attempt=row["attempt"],
        losses=row["losses"],
        started_at_ms=row["started_at_ms"],
        ending=_ending(row),
        result=Raw(row["result"].encode()) if row["result"] is not None else None,
        waiting=_waiting(row),
        cancel_requested=row["cancel_requested"],
    )


def _waiting(row: Mapping[str, Any]) -> Waiting | None:
    if row["due_at_ms"] is None or row["status"] != Status.RETRYING:
        return None
    return Waiting(
        due_at_ms=Millis(row["due_at_ms"]),
        reason=row["reason"],
        error_class=row["error_class"],
        error_message=row["error_message"],
    )


def _ending(row: Mapping[str, Any]) -> Ending | None:
    if row["finished_at_ms"] is None:
        return None
    return Ending(
        finished_at_ms=Millis(row["finished_at_ms"]),
        reason=row["reason"],
        error_class=row["error_class"],
        error_message=row["error_message"],
        result_ref=pointer_in(row["result_ref"]),
    )


def pointer_in(column: str | None) -> Pointer | None:
    return None if column is None else msgspec.json.decode(column, type=Pointer)
