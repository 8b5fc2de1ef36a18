"""Tasks that wait on the shelves of their lines, in PostgreSQL."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from psycopg.rows import DictRow

from taskmill.core.task import Priority, Status, TaskId, TaskType
from taskmill.lanes.lane import ClassCount, Member, Shelved, class_of, type_of
from taskmill.ledger.ports import ShelfCounts, ShelvedTask
from taskmill.stores.postgres import queries
from taskmill.stores.postgres.connection import Database
from taskmill.stores.postgres.whole_rows import whole_row

_ENOUGH: Final = 16_000_000
"""No more payloads are read at a time than so many bytes, and one."""


class PostgresShelf:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._list_lines = queries.load("ledger/list_shelves")
        self._list = queries.load("ledger/list_shelved_tasks")
        self._keep = queries.load("ledger/keep_shelved_tasks")
        self._leave = queries.load("ledger/remove_shelved_tasks")
        self._list_records = queries.load("ledger/list_shelved_records")
        self._end = queries.load("ledger/end_shelved_records")
        self._count = queries.load("ledger/count_shelved_tasks")

    def last(self, *, after: str, most: int) -> Sequence[Shelved]:
        rows = self._database.fetch(self._list_lines, {"after": after, "most": most})
        return [
            Shelved(
                member=Member(TaskId(row["id"]), row["generation"], 1),
                line=row["line"],
                order=row["line_order"],
            )
            for row in rows
        ]

    def first(self, line: str, *, most: int) -> Sequence[ShelvedTask]:
        parameters = {"line": line, "most": most, "enough": _ENOUGH}
        return [_shelved(line, row) for row in self._database.fetch(self._list, parameters)]

    def keep(self, places: Sequence[Shelved]) -> None:
        self._write(self._keep, places)

    def leave(self, places: Sequence[Shelved]) -> None:
        self._write(self._leave, places)

    def with_records(self, *, most: int) -> Sequence[Member]:
        rows = self._database.fetch(self._list_records, {"most": most})
        return [Member(TaskId(row["id"]), row["generation"], 1) for row in rows]

    def note_ended(self, members: Sequence[Member]) -> None:
        named = [{"task_id": one.id, "generation": one.generation} for one in members]
        with self._database.transaction() as connection:
            connection.execute(self._end, {"members": msgspec.json.encode(named).decode()})

    def count(self, *, most: int) -> ShelfCounts:
        counts: defaultdict[TaskType, dict[Priority, ClassCount]] = defaultdict(dict)
        for row in self._database.fetch(self._count, {"most": most}):
            line, found = row["some_line"], ClassCount(row["tasks"], row["oldest"])
            counts[type_of(line)][class_of(line)] = found
        return counts

    def _write(self, statement: bytes, places: Sequence[Shelved]) -> None:
        with self._database.transaction() as connection:
            connection.execute(statement, {"places": listed(places)})


def listed(places: Sequence[Shelved]) -> str:
    """Return places as the statements read them."""
    return msgspec.json.encode([_columns(one) for one in places]).decode()


def _columns(place: Shelved) -> dict[str, Any]:
    return {
        "task_id": place.member.id,
        "generation": place.member.generation,
        "line": place.line,
        "line_order": place.order,
    }


def _shelved(line: str, columns: DictRow) -> ShelvedTask:
    generation = columns["shelved_generation"]
    member = Member(TaskId(columns["id"]), generation, 1)
    row = whole_row(columns)
    is_waiting = (row.generation, row.turn, row.status) == (generation, 1, Status.QUEUED)
    place = Shelved(member=member, line=line, order=columns["line_order"])
    return ShelvedTask(place, row if is_waiting else None)
