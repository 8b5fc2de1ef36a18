"""How far tasks are, by the ledger, and which of them are unfinished."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from taskmill.adapters.postgres import queries
from taskmill.adapters.postgres.connection import Database
from taskmill.domain.reconciliation import Standing
from taskmill.domain.retention import WINDOW_BEHIND
from taskmill.domain.task import Millis, Status, TaskId, TaskType

_STEP = timedelta(minutes=1)
_MOST_STEPS = 100
_ROWS_AT_A_TIME = 500


class PostgresStandings:
    def __init__(self, database: Database, *, behind: timedelta = WINDOW_BEHIND) -> None:
        self._database = database
        self._spans = {
            "behind_seconds": behind.total_seconds(),
            "step_seconds": _STEP.total_seconds(),
        }
        self._advance = queries.load("advance_window")
        self._list = queries.load("list_standings")
        self._unfinished = queries.load("list_unfinished")
        self._find = queries.load("find_standings")
        self._leave = queries.load("leave_unfinished")

    def advance(self) -> Iterator[Sequence[Standing]]:
        """Move the window over the age of tasks on, and give what it passes."""
        for _ in range(_MOST_STEPS):
            moved = self._database.fetch(self._advance, self._spans)
            if not moved:
                return
            yield from self._aged(moved[0])

    def young(self, *, since_ms: Millis) -> Iterator[Sequence[Standing]]:
        yield from self._aged({"after": _moment(since_ms), "until": "infinity"})

    def unfinished(self, *, after: TaskId | None, most: int) -> Sequence[Standing]:
        rows = self._database.fetch(self._unfinished, {"after": after, "most": most})
        return [_standing(row) for row in rows]

    def of(self, ids: Sequence[TaskId]) -> Sequence[Standing]:
        return [_standing(row) for row in self._database.fetch(self._find, {"ids": list(ids)})]

    def leave(self, ids: Sequence[TaskId]) -> None:
        with self._database.transaction() as connection:
            connection.execute(self._leave, {"ids": list(ids)})

    def _aged(self, bounds: Mapping[str, Any]) -> Iterator[Sequence[Standing]]:
        with (
            self._database.transaction() as connection,
            connection.cursor(name="standings") as cursor,
        ):
            cursor.execute(self._list, bounds)
            while rows := cursor.fetchmany(_ROWS_AT_A_TIME):
                yield [_standing(row) for row in rows]


def _moment(at_ms: Millis) -> str:
    return datetime.fromtimestamp(at_ms / 1000, tz=UTC).isoformat()


def _standing(row: Mapping[str, Any]) -> Standing:
    return Standing(
        id=TaskId(row["id"]),
        type=TaskType(row["type"]),
        status=Status(row["status"]),
        generation=row["generation"],
        turn=row["turn"],
        due_at_ms=row["due_at_ms"],
        finished_at_ms=row["finished_at_ms"],
    )
