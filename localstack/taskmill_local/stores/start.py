"""Starts Kafka, Valkey and PostgreSQL in parallel, watches them, and stops them."""

import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TypeAlias, TypeVar
from urllib.parse import urlsplit

from taskmill_local.errors import StoreFailed
from taskmill_local.stores.checksum import Checksum
from taskmill_local.stores.home import HomeLock, prepare_home
from taskmill_local.stores.java import find_java
from taskmill_local.stores.kafka import start_kafka
from taskmill_local.stores.ports import Draw, free_ports
from taskmill_local.stores.postgres import Dsns, start_postgres
from taskmill_local.stores.server import Server
from taskmill_local.stores.valkey import run_id_of, start_valkey

Report: TypeAlias = Callable[[str, str], None]
_Address = TypeVar("_Address")

_GRACE = timedelta(seconds=3)
_TRIES_FOR_PORTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    kafka_brokers: str
    redis_url: str
    redis_checksum: str | None = None
    """The run that stopped Redis, if its data is intact since then; "" when it is new."""

    postgres_owner_dsn: str
    postgres_app_dsn: str
    postgres_application_dsn: str | None = None
    """For an application that enqueues tasks in SQL; None for an external database."""


@dataclass(frozen=True, slots=True, kw_only=True)
class External:
    """The user's own stores, which are used instead of ours."""

    kafka_brokers: str | None = None
    redis_url: str | None = None
    postgres_dsn: str | None = None
    postgres_owner_dsn: str | None = None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "External":
        dsn = environment.get("TASKMILL_POSTGRES_DSN") or None
        return cls(
            kafka_brokers=environment.get("TASKMILL_KAFKA_BROKERS") or None,
            redis_url=environment.get("TASKMILL_REDIS_URL") or None,
            postgres_dsn=dsn,
            postgres_owner_dsn=environment.get("TASKMILL_POSTGRES_OWNER_DSN") or dsn,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """Ports fixed by settings; the others stay as they were at the last start."""

    kafka: int | None = None
    redis: int | None = None
    postgres: int | None = None
    bucket: int | None = None


class Stores:
    """The stores of one home: `start`, `exited` from time to time, and `stop` in every case."""

    def __init__(
        self,
        home: Path,
        *,
        external: External | None = None,
        durable: bool = True,
        ports: Ports = Ports(),
        draw: Draw = free_ports,
    ) -> None:
        self._home = home.absolute()
        self._external = external or External()
        self._durable = durable
        self._lock: HomeLock | None = None
        self._checksum_found: str | None = None
        self._run_id = ""
        self._kafka = Server(
            "Kafka", self._home, port_setting=("TASKMILL_KAFKA_PORT", ports.kafka), draw=draw
        )
        self._valkey = Server(
            "Valkey", self._home, port_setting=("TASKMILL_REDIS_PORT", ports.redis), draw=draw
        )
        self._checksum = Checksum(self._valkey.folder)
        self._postgres = Server(
            "PostgreSQL",
            self._home,
            stop_signal=signal.SIGINT,
            port_setting=("TASKMILL_POSTGRES_PORT", ports.postgres),
            draw=draw,
        )

    async def start(self, report: Report) -> Addresses:
        prepare_home(self._home)
        self._lock = HomeLock(self._home)
        is_ours = not (self._external.redis_url or self._external.postgres_dsn)
        self._checksum_found = "" if is_ours and not self._postgres.folder.exists() else None
        try:
            async with asyncio.TaskGroup() as starts:
                kafka = starts.create_task(self._start_kafka(report))
                valkey = starts.create_task(self._start_valkey(report))
                postgres = starts.create_task(self._start_postgres(report))
        except BaseExceptionGroup as failures:
            await self.stop()
            raise failures.exceptions[0] from None
        except BaseException:
            await self.stop()
            raise
        return Addresses(
            kafka_brokers=kafka.result(),
            redis_url=valkey.result(),
            redis_checksum=self._checksum_found,
            postgres_owner_dsn=postgres.result().owner,
            postgres_app_dsn=postgres.result().app,
            postgres_application_dsn=postgres.result().application,
        )

    async def stop(self, grace: timedelta = _GRACE) -> None:
        servers = (self._kafka, self._valkey, self._postgres)
        await asyncio.gather(*(server.stop(grace) for server in servers))
        if self._valkey.ended_well:
            self._checksum.put(self._run_id)
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def exited(self) -> str | None:
        """Report a store that ended although nobody stopped it, with its last output."""
        sentences = (server.exited() for server in (self._kafka, self._valkey, self._postgres))
        return next((sentence for sentence in sentences if sentence), None)

    async def _start_kafka(self, report: Report) -> str:
        if (brokers := self._external.kafka_brokers) is not None:
            report("Kafka", f"external at {brokers}")
            return brokers
        java = find_java()
        starting = _on_free_ports(self._kafka, lambda: start_kafka(self._kafka, java))
        return await _timed("Kafka", report, starting, _as_it_is)

    async def _start_valkey(self, report: Report) -> str:
        if (url := self._external.redis_url) is not None:
            report("Valkey", f"external at {_place_of(url)}")
            return url
        checksum = self._checksum.take()
        self._checksum_found = self._checksum_found if checksum is None else checksum
        starting = _on_free_ports(self._valkey, lambda: start_valkey(self._valkey))
        place = await _timed("Valkey", report, starting, _place_of)
        self._run_id = await run_id_of(place)
        return place

    async def _start_postgres(self, report: Report) -> Dsns:
        if (dsn := self._external.postgres_dsn) is not None:
            report("PostgreSQL", f"external at {_place_of(dsn)}")
            return Dsns(owner=self._external.postgres_owner_dsn or dsn, app=dsn)
        server, durable = self._postgres, self._durable
        starting = _on_free_ports(server, lambda: start_postgres(server, durable=durable))
        return await _timed("PostgreSQL", report, starting, lambda dsns: _place_of(dsns.app))


async def _on_free_ports(server: Server, start: Callable[[], Awaitable[_Address]]) -> _Address:
    """Start, and retry on other ports when another program took the chosen ones first."""
    for _ in range(_TRIES_FOR_PORTS - 1):
        try:
            return await start()
        except StoreFailed:
            if not server.lacked_its_port:
                raise
    return await start()


async def _timed(
    name: str,
    report: Report,
    starting: Awaitable[_Address],
    place_of: Callable[[_Address], str],
) -> _Address:
    report(name, "starting")
    began = time.monotonic()
    address = await starting
    report(name, f"ready in {time.monotonic() - began:.1f} s at {place_of(address)}")
    return address


def _as_it_is(place: str) -> str:
    return place


def _place_of(url: str) -> str:
    """Remove what must not be shown: a URL may contain a password."""
    parts = urlsplit(url)
    return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)
