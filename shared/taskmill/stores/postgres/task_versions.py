"""Task versions from the ledger, and the unfinished tasks."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from taskmill.core.lifetimes import WINDOW_BEHIND
from taskmill.core.task import Millis, Status, TaskId, TaskType
from taskmill.core.time import in_ms
from taskmill.recovery.divergence import TaskVersion
from taskmill.recovery.ports import Step
from taskmill.stores.postgres import queries
from taskmill.stores.postgres.connection import Connection, Database

_STEP = timedelta(seconds=10)
_ROWS_AT_A_TIME = 500


class PostgresTaskVersions:
    def __init__(self, database: Database, *, behind: timedelta = WINDOW_BEHIND) -> None:
        self._database = database
        self._spans = {
            "behind_seconds": behind.total_seconds(),
            "step_seconds": _STEP.total_seconds(),
        }
        self._hold = queries.load("recovery/hold_window")
        self._move = queries.load("recovery/move_window")
        self._note = queries.load("recovery/note_suspects")
        self._list = queries.load("recovery/list_task_versions")
        self._unfinished = queries.load("recovery/list_unfinished")
        self._unsubmitted = queries.load("recovery/list_unsubmitted")
        self._find = queries.load("recovery/find_task_versions")
        self._leave = queries.load("recovery/remove_unfinished")

    @contextmanager
    def next_step(self) -> Iterator[Step | None]:
        """Hold the next step until all of it was checked: after a death it stays pending."""
        with self._database.transaction() as connection:
            bounds = connection.execute(self._hold, self._spans).fetchone()
            if bounds is None:
                yield None
                return
            yield _HeldStep(connection, bounds, pages=self._list, note=self._note)
            connection.execute(self._move, bounds)

    def young(self, *, since_ms: Millis) -> Iterator[Sequence[TaskVersion]]:
        yield from self._aged({"after": _moment(since_ms), "until": "infinity"})

    def unfinished(self, *, after: TaskId | None, most: int) -> Sequence[TaskVersion]:
        rows = self._database.fetch(self._unfinished, {"after": after, "most": most})
        return [_task_version(row) for row in rows]

    def unsubmitted(self, *, age: timedelta, most: int) -> Sequence[TaskId]:
        parameters = {"age_ms": in_ms(age), "most": most}
        return [TaskId(row["id"]) for row in self._database.fetch(self._unsubmitted, parameters)]

    def of(self, ids: Sequence[TaskId]) -> Sequence[TaskVersion]:
        return [_task_version(row) for row in self._database.fetch(self._find, {"ids": list(ids)})]

    def leave(self, ids: Sequence[TaskId]) -> None:
        with self._database.transaction() as connection:
            connection.execute(self._leave, {"ids": list(ids)})

    def _aged(self, bounds: Mapping[str, Any]) -> Iterator[Sequence[TaskVersion]]:
        with self._database.transaction() as connection:
            yield from _pages(connection, self._list, bounds)


class _HeldStep:
    def __init__(
        self, connection: Connection, bounds: Mapping[str, Any], *, pages: bytes, note: bytes
    ) -> None:
        self._connection = connection
        self._bounds = bounds
        self._pages = pages
        self._note = note

    def pages(self) -> Iterator[Sequence[TaskVersion]]:
        yield from _pages(self._connection, self._pages, self._bounds)

    def note(self, ids: Sequence[TaskId]) -> None:
        if ids:
            self._connection.execute(self._note, {"ids": list(ids)})


def _pages(
    connection: Connection, statement: bytes, bounds: Mapping[str, Any]
) -> Iterator[Sequence[TaskVersion]]:
    with connection.cursor(name="task_versions") as cursor:
        cursor.execute(statement, bounds)
        while rows := cursor.fetchmany(_ROWS_AT_A_TIME):
            yield [_task_version(row) for row in rows]


def _moment(at_ms: Millis) -> str:
    return datetime.fromtimestamp(at_ms / 1000, tz=UTC).isoformat()


def _task_version(row: Mapping[str, Any]) -> TaskVersion:
    return TaskVersion(
        id=TaskId(row["id"]),
        type=TaskType(row["type"]),
        status=Status(row["status"]),
        generation=row["generation"],
        turn=row["turn"],
        due_at_ms=row["due_at_ms"],
        finished_at_ms=row["finished_at_ms"],
        is_shelved=row["is_shelved"],
    )
