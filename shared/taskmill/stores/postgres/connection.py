"""One connection to PostgreSQL, opened on first use and reopened after any loss."""

import random
import re
import select
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from threading import Lock
from typing import Any, TypeAlias, TypeVar

import psycopg
from psycopg.rows import DictRow, dict_row
from psycopg.types.string import TextLoader

from taskmill.core.errors import StoreUnavailable
from taskmill.settings.access import Access, PostgresAccess
from taskmill.stores.guard import Guard
from taskmill.stores.postgres.cutter import Cutter

STORE = "PostgreSQL"
SECONDS_TO_CONNECT = 3
STATEMENT_TIMEOUT = "10s"
IDLE_TRANSACTION_TIMEOUT = "30s"
"""How long a vanished client keeps its locks; our longest transaction waits for Kafka."""
LONGEST_TRANSACTION = timedelta(seconds=60)
"""A hanging server never ends a statement by itself: after this its connection is cut."""
RETRIES_OF_A_LOST_RACE = 3
_SECONDS_BEFORE_A_RETRY = 0.1
_CUTTER = Cutter()
_UNPROVEN = "certificate verify failed"
_REFUSAL = re.compile(r"authentication|credentials|role .* does not exist|28P01|28000")

Connection: TypeAlias = psycopg.Connection[DictRow]
T = TypeVar("T")


class _LostRace(StoreUnavailable):
    """Another transaction or a migration interfered; the same work may succeed when repeated."""


class Database:
    def __init__(
        self,
        access: Access[PostgresAccess] | str,
        *,
        patience: timedelta = LONGEST_TRANSACTION,
        guard: Guard | None = None,
    ) -> None:
        """Take the credentials for PostgreSQL, or its plain DSN."""
        self._patience = patience
        self._access = Access(PostgresAccess(dsn=access)) if isinstance(access, str) else access
        self._guard = guard or Guard(STORE)
        self._lock = Lock()
        self._connection: Connection | None = None

    def another(self) -> "Database":
        """Return a second connection, for work during which this one stays free."""
        return Database(self._access, patience=self._patience, guard=self._guard)

    @contextmanager
    def transaction(self, *, within: timedelta | None = None) -> Iterator[Connection]:
        """Yield a connection inside a transaction; connection failures raise `StoreUnavailable`.

        Data errors pass through unchanged: they are the caller's.
        """
        with self._held(within) as connection, connection.transaction():
            yield connection

    @contextmanager
    def _held(self, within: timedelta | None) -> Iterator[Connection]:
        with self._lock, self._guard.watch():
            try:
                connection = self._connected()
                with _CUTTER.cut_after(within or self._patience, connection):
                    yield connection
            except (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure) as error:
                raise _LostRace(STORE, _why(error)) from error
            except TOO_LARGE:
                raise
            except psycopg.errors.FeatureNotSupported as error:
                self._drop()  # with it go the statements that the server has prepared
                raise _LostRace(STORE, _why(error)) from error
            except _AWAY as error:
                self._drop()
                raise StoreUnavailable(STORE, _why(error)) from error

    def run(self, work: Callable[[Connection], T], *, within: timedelta | None = None) -> T:
        """Run *work* in a transaction, and repeat it if it only lost against another one."""

        def once() -> T:
            with self.transaction(within=within) as connection:
                return work(connection)

        return _until_won(once)

    def fetch(
        self,
        statement: bytes,
        values: dict[str, Any],
        *,
        within: timedelta | None = None,
    ) -> list[DictRow]:
        """Run one statement as its own transaction, without the surrounding round trips."""

        def once() -> list[DictRow]:
            with self._held(within) as connection:
                return connection.execute(statement, values).fetchall()

        return _until_won(once)

    def close(self) -> None:
        with self._lock:
            self._drop()

    def _connected(self) -> Connection:
        if self._connection is not None and _is_hung_up(self._connection):
            self._drop()
        if self._connection is None:
            self._connection = self._access.open(_connect, _is_refusal)
        return self._connection

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _until_won(once: Callable[[], T]) -> T:
    for _ in range(RETRIES_OF_A_LOST_RACE):
        try:
            return once()
        except _LostRace:
            time.sleep(random.uniform(0, _SECONDS_BEFORE_A_RETRY))  # noqa: S311 - it only spreads
    return once()


def _is_hung_up(connection: Connection) -> bool:
    """Return whether the server closed an idle connection: it sends nothing else unasked.

    So a restarted server, or a proxy that closes idle connections, fails no call.
    """
    if connection.closed:
        return True
    waiting = select.poll()
    waiting.register(connection.fileno(), select.POLLIN)
    return bool(waiting.poll(0))


TOO_LARGE = (
    psycopg.errors.ProgramLimitExceeded,  # a text that is too large for an index
    psycopg.errors.StatementTooComplex,  # JSON that is nested too deep
)
"""Errors that psycopg blames on the server but that the data causes."""

_AWAY = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    psycopg.errors.ReadOnlySqlTransaction,  # no longer the primary: connect to the new one
    psycopg.errors.IdleInTransactionSessionTimeout,  # this process was frozen: others have its rows
    OSError,
)


def _connect(access: PostgresAccess) -> psycopg.Connection[DictRow]:
    connection = psycopg.connect(
        access.dsn,
        autocommit=True,
        row_factory=dict_row,
        connect_timeout=SECONDS_TO_CONNECT,
        options=(
            f"-c statement_timeout={STATEMENT_TIMEOUT} "
            f"-c idle_in_transaction_session_timeout={IDLE_TRANSACTION_TIMEOUT} "
            "-c timezone=UTC"
        ),
        **_proofs(access),
    )
    connection.adapters.register_loader("uuid", TextLoader)  # ids are plain text to us
    return connection


def _proofs(access: PostgresAccess) -> dict[str, Any]:
    """Return our credentials, and how to verify the server."""
    proofs: dict[str, Any] = {}
    if access.credentials.password:
        proofs |= {"user": access.credentials.username, "password": access.credentials.password}
    if access.must_verify:
        # The wheel's library looks for authorities where its builder's machine had them.
        trusted = access.ca_file or ssl.get_default_verify_paths().cafile or "system"
        proofs |= {"sslmode": "verify-full", "sslrootcert": trusted}
    return proofs


def _is_refusal(error: Exception) -> bool:
    """Return whether the server rejects our credentials; libpq has no error code for that."""
    return isinstance(error, psycopg.OperationalError) and _REFUSAL.search(str(error)) is not None


def _why(error: Exception) -> str:
    if _UNPROVEN not in str(error):
        return str(error)
    return (  # libpq gives no further detail
        "its certificate has expired or was not issued by a trusted authority; "
        f"set one in TASKMILL_POSTGRES_CA_FILE ({error})"
    )
