"""The rule book, in PostgreSQL."""

from collections.abc import Mapping, Sequence
from typing import Any

from taskmill.core.task import Millis
from taskmill.lanes.rules import PausedRule, PauseOrder, RuleBook, RuleKey, RulesChanged
from taskmill.stores.postgres import queries
from taskmill.stores.postgres.connection import Connection, Database


class PostgresRules:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._revision = queries.load("lanes/read_revision")
        self._read = queries.load("lanes/read_pauses")
        self._lock = queries.load("lanes/lock_rules")
        self._pause = queries.load("lanes/pause_rule")
        self._pass = queries.load("lanes/pass_revision")
        self._resume = queries.load("lanes/resume_rule")

    def revision(self) -> int:
        ((row),) = self._database.fetch(self._revision, {})
        return int(row["revision"])

    def book(self) -> RuleBook:
        return _book(self._database.fetch(self._read, {}))

    def pause(self, order: PauseOrder) -> RulesChanged:
        values = _key_fields(order.key) | {
            "until_ms": order.until_ms,
            "by": order.by,
            "reason": order.reason,
        }

        def work(connection: Connection) -> RulesChanged:
            before = self._locked(connection)
            connection.execute(self._pause, values)
            return RulesChanged(before, self._book(connection))

        return self._database.run(work)

    def resume(self, key: RuleKey) -> RulesChanged:
        def work(connection: Connection) -> RulesChanged:
            before = self._locked(connection)
            if before.pause_of(key) is None:
                return RulesChanged(before, before)
            connection.execute(self._resume, _key_fields(key))
            return RulesChanged(before, self._book(connection))

        return self._database.run(work)

    def pass_by(self, revision: int) -> int:
        self._database.fetch(self._pass, {"revision": revision})
        return self.revision()

    def _locked(self, connection: Connection) -> RuleBook:
        """Return the book, which nobody else changes before the end of the transaction."""
        connection.execute(self._lock)
        return self._book(connection)

    def _book(self, connection: Connection) -> RuleBook:
        return _book(connection.execute(self._read).fetchall())


def _key_fields(key: RuleKey) -> dict[str, Any]:
    return {"name": key.name, "value": key.value}


def _book(rows: Sequence[Mapping[str, Any]]) -> RuleBook:
    pauses = [_paused(row) for row in rows if row["name"] is not None]
    return RuleBook(rows[0]["revision"], tuple(sorted(pauses, key=lambda one: one.key)))


def _paused(row: Mapping[str, Any]) -> PausedRule:
    until_ms = row["paused_until_ms"]
    return PausedRule(
        key=RuleKey(row["name"], row["value"]),
        until_ms=None if until_ms is None else Millis(until_ms),
        reason=row["reason"],
        by=row["paused_by"],
        at_ms=Millis(row["paused_at_ms"]),
    )
