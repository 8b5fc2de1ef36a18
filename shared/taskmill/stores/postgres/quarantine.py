"""The quarantine and the batches of newer versions, in PostgreSQL."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec
import psycopg
from msgspec.structs import asdict

from taskmill.core.refusal import Dismissal
from taskmill.core.task import Millis
from taskmill.ledger.quarantine import (
    PUT_BACK,
    AfterRecord,
    KeptBatch,
    OpenedRecord,
    Place,
    QuarantinedRecord,
    QuarantinePage,
)
from taskmill.stores.postgres import queries
from taskmill.stores.postgres.connection import Database


class PostgresNewerBatches:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._hold = queries.load("ledger/hold_newer_batches")

    @contextmanager
    def held(self, *, readable: int, most: int) -> Iterator["PostgresHeldBatches"]:
        with self._database.transaction() as connection:
            parameters = {"readable": readable, "most": most}
            rows = connection.execute(self._hold, parameters).fetchall()
            batches = [KeptBatch(place=Place(*_place(row)), value=row["value"]) for row in rows]
            yield PostgresHeldBatches(connection, batches)


class PostgresHeldBatches:
    """Batches that nobody else returns during the transaction."""

    def __init__(self, connection: psycopg.Connection[Any], batches: Sequence[KeptBatch]) -> None:
        self.batches = batches
        self._connection = connection

    def mark_returned(self) -> None:
        mark = queries.load("ledger/mark_returned")
        for batch in self.batches:
            self._connection.execute(mark, asdict(batch.place) | {"by": PUT_BACK})


def _place(row: dict[str, Any]) -> tuple[str, int, int, int]:
    return row["topic"], row["partition"], row["offset"], row["member"]


class PostgresQuarantine:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._find = queries.load("ledger/find_record")
        self._list = queries.load("ledger/list_quarantine")
        self._discard = queries.load("ledger/discard_record")

    def page(self, *, is_discarded: bool, after: AfterRecord | None, limit: int) -> QuarantinePage:
        parameters = {
            **(_named(after.place) if after else _NOWHERE),
            "after_ms": after.at_ms if after else None,
            "discarded": is_discarded,
            "limit": limit + 1,  # one extra row shows whether there is a next page
        }
        rows = self._database.fetch(self._list, parameters)
        records = [_record(row) for row in rows[:limit]]
        last = records[-1] if len(rows) > limit else None
        return QuarantinePage(records, AfterRecord(last.at_ms, last.place) if last else None)

    def find(self, place: Place) -> OpenedRecord | None:
        rows = self._database.fetch(self._find, _named(place))
        return _opened(rows[0]) if rows else None

    def discard(self, place: Place, discard: Dismissal) -> QuarantinedRecord | None:
        parameters = _named(place) | {"at_ms": discard.at_ms, "by": discard.by}
        rows = self._database.fetch(self._discard, parameters)
        return _record(rows[0]) if rows else None


_NOWHERE: Mapping[str, Any] = dict.fromkeys(("topic", "partition", "offset", "member"))


def _named(place: Place) -> dict[str, Any]:
    return {
        "topic": place.topic,
        "partition": place.partition,
        "offset": place.offset,
        "member": place.member,
    }


def _opened(row: Mapping[str, Any]) -> OpenedRecord:
    return OpenedRecord(record=_record(row), value=row["value"], headers=_headers(row))


def _headers(row: Mapping[str, Any]) -> Mapping[str, bytes]:
    return msgspec.json.decode(row["headers"], type=dict[str, bytes])


def _record(row: Mapping[str, Any]) -> QuarantinedRecord:
    at_ms = row["discarded_at_ms"]
    return QuarantinedRecord(
        place=Place(row["topic"], row["partition"], row["offset"], row["member"]),
        at_ms=Millis(row["at_ms"]),
        reason=row["reason"],
        size=row["size"],
        header_names=sorted(_headers(row)),
        discarded=None if at_ms is None else Dismissal(at_ms=at_ms, by=row["discarded_by"]),
    )
