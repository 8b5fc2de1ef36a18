"""The parcels of newer versions, in PostgreSQL."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from msgspec.structs import asdict

from taskmill.adapters.postgres import queries
from taskmill.adapters.postgres.connection import Database
from taskmill.domain.quarantine import PUT_BACK, KeptParcel, Place


class PostgresNewerParcels:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._hold = queries.load("hold_newer_parcels")

    @contextmanager
    def held(self, *, readable: int, most: int) -> Iterator["PostgresHeldParcels"]:
        with self._database.transaction() as connection:
            asked = {"readable": readable, "most": most}
            rows = connection.execute(self._hold, asked).fetchall()
            parcels = [KeptParcel(place=Place(*_place(row)), value=row["value"]) for row in rows]
            yield PostgresHeldParcels(connection, parcels)


class PostgresHeldParcels:
    """Parcels that nobody else puts back while the transaction lives."""

    def __init__(self, connection: psycopg.Connection[Any], parcels: Sequence[KeptParcel]) -> None:
        self.parcels = parcels
        self._connection = connection

    def mark_returned(self) -> None:
        mark = queries.load("mark_returned")
        for parcel in self.parcels:
            self._connection.execute(mark, asdict(parcel.place) | {"by": PUT_BACK})


def _place(row: dict[str, Any]) -> tuple[str, int, int, int]:
    return row["topic"], row["partition"], row["offset"], row["member"]
