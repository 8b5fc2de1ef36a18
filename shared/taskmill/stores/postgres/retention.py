"""Retention, in PostgreSQL."""

from datetime import timedelta

from taskmill.core.lifetimes import Kept
from taskmill.stores.postgres import queries
from taskmill.stores.postgres.connection import Database


class PostgresArchive:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._forget = {
            Kept.TASKS: queries.load("ledger/forget_tasks"),
            Kept.HISTORY: queries.load("ledger/forget_history"),
            Kept.QUARANTINE: queries.load("ledger/forget_quarantine"),
            Kept.OUTBOX: queries.load("ledger/forget_outbox"),
            Kept.ENQUEUED: queries.load("ledger/forget_enqueued"),
        }
        self._make_months = queries.load("ledger/make_months")

    def forget(self, kind: Kept, *, older_than: timedelta, most: int) -> int:
        parameters = {"seconds": older_than.total_seconds(), "most": most}
        (row,) = self._database.fetch(self._forget[kind], parameters)
        return int(row["removed"])

    def make_months(self, *, ahead: int) -> int:
        (row,) = self._database.fetch(self._make_months, {"ahead": ahead})
        return int(row["made"])
