"""One connection to PostgreSQL, made on first use and made anew after any loss of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

import psycopg
from psycopg.rows import DictRow, dict_row

from taskmill.domain.errors import StoreUnavailable

STORE = "PostgreSQL"
SECONDS_TO_CONNECT = 3
STATEMENT_TIMEOUT = "10s"


class Database:
    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._lock = Lock()
        self._connection: psycopg.Connection[DictRow] | None = None

    @contextmanager
    def transaction(self) -> Iterator[psycopg.Connection[DictRow]]:
        """Give a connection inside a transaction; what cannot be reached is `StoreUnavailable`.

        Errors about data pass as they are: they are the caller's.
        """
        with self._lock:
            try:
                connection = self._connected()
                with connection.transaction():
                    yield connection
            except (psycopg.OperationalError, psycopg.InterfaceError, OSError) as error:
                self._drop()
                raise StoreUnavailable(STORE, str(error)) from error

    def fetch(self, statement: bytes, values: dict[str, Any]) -> list[DictRow]:
        with self.transaction() as connection:
            return connection.execute(statement, values).fetchall()

    def _connected(self) -> psycopg.Connection[DictRow]:
        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(
                self._dsn,
                autocommit=True,
                row_factory=dict_row,
                connect_timeout=SECONDS_TO_CONNECT,
                options=f"-c statement_timeout={STATEMENT_TIMEOUT} -c timezone=UTC",
            )
        return self._connection

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
