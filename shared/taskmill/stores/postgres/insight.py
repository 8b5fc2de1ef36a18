"""Aggregates over the ledger without scanning it."""

from typing import Final

from taskmill.core.task import Priority, Status
from taskmill.insight.statistics import Depth, Figures
from taskmill.stores.postgres import queries
from taskmill.stores.postgres.connection import Database
from taskmill.stores.postgres.rows import as_of

MOST: Final = 50_000
"""Maximum number of young tasks, and of old ones, that are counted."""


class PostgresFigures:
    def __init__(self, database: Database, *, most: int = MOST) -> None:
        self._database = database
        self._most = most
        self._unfinished = queries.load("insight/count_unfinished")
        self._recent = queries.load("insight/count_recent_facts")

    def figures(self) -> Figures:
        as_of_ms = as_of(self._database)
        counted = self._database.fetch(self._unfinished, {"most": self._most})
        (overall,) = [row for row in counted if row["type"] is None]
        recent = self._database.fetch(self._recent, {})
        return Figures(
            depths=[
                Depth(
                    type=row["type"],
                    status=Status(row["status"]),
                    priority=Priority(row["priority"]),
                    tasks=row["tasks"],
                    in_line=row["in_line"],
                    waits_since_ms=row["since"],
                )
                for row in counted
                if row["type"] is not None
            ],
            is_complete=max(overall["noted"], overall["young"], overall["far"]) < self._most,
            facts_of_last_minute={(row["type"], row["kind"]): row["facts"] for row in recent},
            as_of_ms=as_of_ms,
        )
