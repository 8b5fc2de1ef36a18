"""An operator opens the shards of a Redis of one's own, and never by accident twice."""

import asyncio
import shutil
import tempfile
from datetime import timedelta
from pathlib import Path

import pytest

from taskmill_local.cli.shards import open_own_shards
from taskmill_local.errors import PlatformError
from taskmill_local.stores.home import prepare_home
from taskmill_local.stores.server import Server
from taskmill_local.stores.valkey import start_valkey


async def opened_twice(*, again):
    home = Path(tempfile.mkdtemp(prefix="taskmill-"))
    prepare_home(home)
    server = Server("Valkey", home)
    try:
        environment = {"TASKMILL_REDIS_URL": await start_valkey(server), "TASKMILL_SHARDS": "4"}
        first = await asyncio.to_thread(open_own_shards, environment, again=False)
        return first, await asyncio.to_thread(open_own_shards, environment, again=again)
    finally:
        await server.stop(timedelta(seconds=10))
        shutil.rmtree(home)


def test_shards_are_opened_again_only_when_told_so():
    assert asyncio.run(opened_twice(again=True)) == (0, 0)
    with pytest.raises(PlatformError, match="4 of 4 shards were opened before"):
        asyncio.run(opened_twice(again=False))


@pytest.mark.parametrize(
    ("environment", "complaint"),
    [
        ({}, "TASKMILL_REDIS_URL is missing"),
        ({"TASKMILL_REDIS_URL": "redis://cache.example:6379/0"}, "begin it with rediss://"),
        ({"TASKMILL_REDIS_URL": "redis://127.0.0.1:1/0"}, "Redis cannot be reached"),
    ],
)
def test_what_keeps_shards_closed_is_told(environment, complaint):
    with pytest.raises(PlatformError, match=complaint):
        open_own_shards(environment, again=False)
