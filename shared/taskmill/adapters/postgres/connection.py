"""One connection to PostgreSQL, made on first use and made anew after any loss of it."""

import re
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

import psycopg
from psycopg.rows import DictRow, dict_row

from taskmill.adapters.access import Access, PostgresAccess
from taskmill.domain.errors import StoreUnavailable

STORE = "PostgreSQL"
SECONDS_TO_CONNECT = 3
STATEMENT_TIMEOUT = "10s"
_UNPROVEN = "certificate verify failed"
_REFUSAL = re.compile(r"authentication|credentials|role .* does not exist|28P01|28000")


class Database:
    def __init__(self, access: Access[PostgresAccess] | str) -> None:
        """Take what opens PostgreSQL, or its plain DSN."""
        self._access = Access(PostgresAccess(dsn=access)) if isinstance(access, str) else access
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
                raise StoreUnavailable(STORE, _why(error)) from error

    def fetch(self, statement: bytes, values: dict[str, Any]) -> list[DictRow]:
        with self.transaction() as connection:
            return connection.execute(statement, values).fetchall()

    def close(self) -> None:
        with self._lock:
            self._drop()

    def _connected(self) -> psycopg.Connection[DictRow]:
        if self._connection is None or self._connection.closed:
            self._connection = self._access.open(_connect, _is_refusal)
        return self._connection

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _connect(access: PostgresAccess) -> psycopg.Connection[DictRow]:
    return psycopg.connect(
        access.dsn,
        autocommit=True,
        row_factory=dict_row,
        connect_timeout=SECONDS_TO_CONNECT,
        options=f"-c statement_timeout={STATEMENT_TIMEOUT} -c timezone=UTC",
        **_proofs(access),
    )


def _proofs(access: PostgresAccess) -> dict[str, Any]:
    """Return who we are, and how the server must prove who it is."""
    proofs: dict[str, Any] = {}
    if access.credentials.password:
        proofs |= {"user": access.credentials.username, "password": access.credentials.password}
    if access.must_verify:
        # The library of the wheel looks for authorities where its builder's machine had them.
        trusted = access.ca_file or ssl.get_default_verify_paths().cafile or "system"
        proofs |= {"sslmode": "verify-full", "sslrootcert": trusted}
    return proofs


def _is_refusal(error: Exception) -> bool:
    """Tell whether the server refuses who we are; libpq gives it no code while connecting."""
    return isinstance(error, psycopg.OperationalError) and _REFUSAL.search(str(error)) is not None


def _why(error: Exception) -> str:
    if _UNPROVEN not in str(error):
        return str(error)
    return (  # libpq tells no more
        "its certificate has expired, or comes from no authority that is trusted here; "
        f"TASKMILL_POSTGRES_CA_FILE names one ({error})"
    )
