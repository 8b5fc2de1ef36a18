"""The recorder's side of the ledger: one transaction for a batch, safe to repeat."""

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any

import msgspec
import psycopg
from msgspec import Raw
from msgspec.structs import replace

from taskmill.core.errors import LedgerRefused
from taskmill.core.lifetimes import LATE
from taskmill.core.time import in_ms
from taskmill.ledger.projection import (
    LedgerBatch,
    Row,
    begun_anew,
    coming_back,
    failing,
    going_far,
    with_expiry,
)
from taskmill.stores.postgres import queries
from taskmill.stores.postgres.connection import TOO_LARGE, Database
from taskmill.stores.postgres.shelf import listed

_encode = msgspec.json.Encoder().encode


class PostgresLedger:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._upsert = queries.load("ledger/upsert_tasks")
        self._note_unfinished = queries.load("ledger/note_unfinished")
        self._keep_far = queries.load("ledger/keep_far_tasks")
        self._leave_far = queries.load("ledger/remove_far_tasks")
        self._shelve = queries.load("ledger/keep_shelved_tasks")
        self._keep_expiries = queries.load("ledger/keep_expiries")
        self._append = queries.load("ledger/append_facts")
        self._keep = queries.load("ledger/keep_dead_letters")
        self._leave = queries.load("ledger/remove_dead_letters")
        self._quarantine = queries.load("ledger/quarantine_record")
        self._apply = queries.load("ledger/apply_position")

    def record(self, batch: LedgerBatch) -> int:
        """Write the whole *batch* or nothing; return how many rows changed nothing."""
        try:
            return self._database.run(lambda connection: self._write_whole(connection, batch))
        except (psycopg.DataError, psycopg.IntegrityError, *TOO_LARGE) as error:
            # The error's details quote the row, and refusals are shown to many people.
            raise LedgerRefused(error.diag.message_primary or str(error)) from None

    def _write_whole(self, connection: psycopg.Connection[Any], batch: LedgerBatch) -> int:
        with connection.pipeline():
            upserted = self._write(connection, batch)
        return len(batch.rows) - upserted.rowcount if upserted else 0

    def _write(
        self, connection: psycopg.Connection[Any], batch: LedgerBatch
    ) -> psycopg.Cursor[Any] | None:
        """Send everything, and return the cursor that will know how many rows changed."""
        upserted = None
        if batch.rows:
            rows = sorted(batch.rows, key=attrgetter("id"))  # one order prevents deadlocks
            upserted = connection.execute(self._upsert, {"rows": _listed(map(_flat, rows))})
            self._write_times(connection, batch)
            if complete := [row for row in rows if row.spec]:
                connection.execute(self._note_unfinished, _ages(complete))
        if batch.shelved:
            connection.execute(self._shelve, {"places": listed(batch.shelved)})
        if batch.history:
            connection.execute(self._append, {"history": _text(batch.history)})
        if may_be_dead := failing(batch):
            connection.execute(self._keep, {"ids": may_be_dead})
        if may_live_again := begun_anew(batch):
            connection.execute(self._leave, {"ids": may_live_again})
        for record in batch.quarantined:
            columns = msgspec.structs.asdict(record) | {"headers": _text(record.headers)}
            connection.execute(self._quarantine, columns)
        for run in batch.applied:
            connection.execute(self._apply, msgspec.structs.asdict(run))
        return upserted

    def _write_times(self, connection: psycopg.Connection[Any], batch: LedgerBatch) -> None:
        """Write the times that are searched for to separate tables."""
        if far := going_far(batch):
            connection.execute(self._keep_far, {"ids": far})
        if near := coming_back(batch):
            connection.execute(self._leave_far, {"ids": near})
        if limited := with_expiry(batch):
            connection.execute(self._keep_expiries, {"ids": limited})


def _ages(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the creation times: only the clock of the window can tell which tasks are late."""
    # The driver would take longer to encode an array itself than for the rest of the row.
    return {
        "ids": f"{{{','.join(row.id for row in rows)}}}",
        "created_ms": f"{{{','.join(str(row.spec.created_at_ms) for row in rows if row.spec)}}}",
        "late_ms": in_ms(LATE),
    }


def _flat(row: Row) -> bytes:
    """Return the values of *row* and its spec; JSON values in a list, so that null stays a value.

    A missing column reads as NULL and costs PostgreSQL less than a named one; of one that row and
    spec both name, PostgreSQL takes either.
    """
    state = _encode(replace(row, spec=None, result=_boxed(row.result)))
    if row.spec is None:
        return state
    spec = _encode(replace(row.spec, payload=_boxed(row.spec.payload)))
    extra = b'"payload_size":%d,"changed":%d' % (row.spec.payload_size, row.spec.changed)
    return b"%b,%b,%b" % (state[:-1], extra, spec[1:])


def _boxed(value: Raw | None) -> Raw | None:
    return None if value is None else Raw(b"[%b]" % bytes(value))


def _listed(members: Iterable[bytes]) -> str:
    return (b"[%b]" % b",".join(members)).decode()


def _text(value: Any) -> str:
    return _encode(value).decode()
