"""The visible state of a running platform, as plain JSON values."""

import asyncio
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from taskmill.settings.known import PREFIX, STORES
from taskmill_local.background_thread import in_background_thread
from taskmill_local.lambdas.functions import Functions
from taskmill_local.lambdas.pool import PoolSnapshot
from taskmill_local.mappings.mappings import Mappings
from taskmill_local.mappings.snapshot import MappingSnapshot
from taskmill_local.plan import FunctionPlan
from taskmill_local.settings import GATEWAY, Settings
from taskmill_local.status_count import StatusCount
from taskmill_local.stores.start import Addresses

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    url: str
    settings: Settings
    stores: Mapping[str, Json]
    caps: Mapping[str, int]
    status_count: StatusCount
    scheduler_settings: Mapping[str, str]
    """The scheduler's settings, without secrets."""

    functions: Functions
    mappings: Mappings
    start_split: Mapping[str, float]
    started_at: float = field(default_factory=time.time)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def snapshot(self) -> Json:
        async with self._turn:
            tasks = dict(await in_background_thread(self.status_count.counts))
        pools = self.functions.snapshot()
        mappings = self.mappings.snapshot()
        return {
            "url": self.url,
            "pid": os.getpid(),
            "home": str(self.settings.home),
            "root": str(self.settings.root),
            "started_at": self.started_at,
            "start_seconds": dict(self.start_split),
            "settings": dict(self.scheduler_settings),
            "stores": {name: _with_pid(name, view, self.settings) for name, view in self._stores()},
            "functions": {name: self._function(name, pool) for name, pool in pools.items()},
            "mappings": {name: _mapping(snapshot) for name, snapshot in mappings.items()},
            "tasks": tasks,
            "requests": pools[GATEWAY].invocations,
            "lag": sum(snapshot.backlog for snapshot in mappings.values()),
        }

    def close(self) -> None:
        self.status_count.close()

    def _stores(self) -> list[tuple[str, Json]]:
        return list(self.stores.items())

    def _function(self, name: str, pool: PoolSnapshot) -> Json:
        return {
            "concurrency": self.caps[name],
            "environments": pool.environments,
            "busy": pool.busy,
            "queued": pool.queued,
            "invocations": pool.invocations,
            "errors": pool.errors,
            "cold_starts": pool.cold_starts,
            "pids": list(pool.pids),
            "start_error": pool.start_error,
            "log": str(self.settings.home / "logs" / f"{name}.log"),
        }


def settings_view(plan: FunctionPlan, settings: Settings) -> dict[str, str]:
    """Return a function's taskmill settings, without secrets and store addresses."""
    variables = {**settings.for_functions, **plan.environment}
    hidden = {f"{PREFIX}{store}" for store in STORES}
    return {
        name: value
        for name, value in variables.items()
        if name.startswith(PREFIX) and name not in hidden and not name.endswith("_SECRET")
    }


def store_views(addresses: Addresses, settings: Settings) -> dict[str, Json]:
    external = settings.external
    places = {
        "Kafka": (addresses.kafka_brokers, external.kafka_brokers),
        "Valkey": (addresses.redis_url, external.redis_url),
        "PostgreSQL": (addresses.postgres_app_dsn, external.postgres_dsn),
    }
    views: dict[str, Json] = {
        name: {"address": _without_secret(address), "is_external": own is not None}
        for name, (address, own) in places.items()
    }
    views["PostgreSQL"]["application"] = addresses.postgres_application_dsn
    return views


def _with_pid(name: str, view: Json, settings: Settings) -> Json:
    if view["is_external"]:
        return view
    return view | {
        "pid": _pid_of(settings.home / "stores" / f"{name.lower()}.pid"),
        "log": str(settings.home / "logs" / f"{name.lower()}.log"),
    }


def _pid_of(pid_file: Path) -> int | None:
    with suppress(OSError, ValueError, IndexError):
        return int(pid_file.read_text().split()[0])
    return None


def _without_secret(address: str) -> str:
    parts = urlsplit(address)
    if not parts.scheme or "@" not in parts.netloc:
        return address
    user = f"{parts.username}@" if parts.username else ""
    return parts._replace(netloc=user + parts.netloc.rpartition("@")[2]).geturl()


def _mapping(snapshot: MappingSnapshot) -> Json:
    return {
        "function": snapshot.function,
        "topic": snapshot.topic,
        "lag": snapshot.backlog,
        "lag_by_partition": {str(partition): lag for partition, lag in snapshot.lag.items()},
        "in_flight": snapshot.in_flight,
        "batches": snapshot.batches,
        "records": snapshot.records,
        "failures": snapshot.failures,
        "last_error": snapshot.last_error,
        "backing_off_seconds": {
            str(partition): delay.total_seconds()
            for partition, delay in snapshot.backing_off.items()
        },
    }
