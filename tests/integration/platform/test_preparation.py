"""Started stores are prepared for tasks; a Redis that may have lost data is not trusted."""

import asyncio
import shutil
import tempfile
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from taskmill.stores.redis.keys import ShardKeys
from taskmill.stores.redis.session import Session
from taskmill_local import preparation
from taskmill_local.errors import StoreFailed
from taskmill_local.settings import SHARDS
from taskmill_local.stores.home import prepare_home
from taskmill_local.stores.server import Server
from taskmill_local.stores.valkey import start_valkey

ROOT = Path(__file__).parents[3]
MARKERS = [ShardKeys(shard, SHARDS).marker for shard in range(SHARDS)]


@asynccontextmanager
async def a_valkey():
    home = Path(tempfile.mkdtemp(prefix="taskmill-"))
    prepare_home(home)
    server = Server("Valkey", home)
    try:
        yield await start_valkey(server)
    finally:
        await server.stop(timedelta(seconds=10))
        shutil.rmtree(home)


def markers_after(url, *, checksum):
    session = Session(url)
    session.command("SET", MARKERS[0], "the last run")
    preparation.open_or_leave(url, checksum=checksum)
    found = [session.command("GET", key) for key in MARKERS]
    run_id = session.run_id().encode()
    session.close()
    return [marker == run_id for marker in found]


FIRST_ONLY = [True] + [False] * (SHARDS - 1)


@pytest.mark.parametrize(
    ("checksum", "are_open"),
    [("", [True] * SHARDS), ("the last run", FIRST_ONLY), (None, [False] * SHARDS)],
    ids=["new", "stopped", "not known"],
)
def test_only_what_was_open_and_lost_nothing_is_open_without_a_rebuild(checksum, are_open):
    async def scenario():
        async with a_valkey() as url:
            return await asyncio.to_thread(markers_after, url, checksum=checksum)

    assert asyncio.run(scenario()) == are_open


def test_a_redis_that_does_not_answer_is_a_sentence():
    with pytest.raises(StoreFailed, match=r"Redis does not answer.*TASKMILL_REDIS_URL"):
        preparation.open_or_leave("redis://127.0.0.1:1/0", checksum=None)


def test_a_database_that_is_not_there_is_a_sentence():
    with pytest.raises(StoreFailed, match="schema cannot be brought up to date"):
        preparation.bring_up_to_date("postgresql://nobody@127.0.0.1:1/none", ROOT)


def test_each_type_of_the_catalogue_has_a_topic():
    topics = preparation.topic_plans(ROOT)

    assert {"tasks.pending", "tasks.events", "tasks.dlq", "tasks.worker.echo"} <= topics.keys()
    assert topics["tasks.worker.echo"].partitions == 6
    assert topics["tasks.dlq"].configs["message.timestamp.type"] == "LogAppendTime"
