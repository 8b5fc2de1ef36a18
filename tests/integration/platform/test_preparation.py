"""Started stores are made ready for tasks, and a foreign Redis is not trusted blindly."""

import asyncio
import shutil
import tempfile
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from taskmill.adapters.redis.keys import ShardKeys
from taskmill.adapters.redis.session import Session
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


def markers_after(url, *, is_ours):
    session = Session(url)
    preparation.open_or_leave(url, is_ours=is_ours)
    found = {session.command("GET", key) for key in MARKERS}
    run_id = session.run_id().encode()
    session.close()
    return {"open" if marker == run_id else marker for marker in found}


@pytest.mark.parametrize(("is_ours", "markers"), [(True, {"open"}), (False, {None})])
def test_only_the_shards_of_our_own_server_are_opened_without_a_rebuild(is_ours, markers):
    async def scenario():
        async with a_valkey() as url:
            return await asyncio.to_thread(markers_after, url, is_ours=is_ours)

    assert asyncio.run(scenario()) == markers


def test_a_redis_that_does_not_answer_is_a_sentence():
    with pytest.raises(StoreFailed, match=r"Redis does not answer.*TASKMILL_REDIS_URL"):
        preparation.open_or_leave("redis://127.0.0.1:1/0", is_ours=False)


def test_a_database_that_is_not_there_is_a_sentence():
    with pytest.raises(StoreFailed, match="schema cannot be brought up to date"):
        preparation.bring_up_to_date("postgresql://nobody@127.0.0.1:1/none", ROOT)


def test_each_type_of_the_catalogue_has_a_topic():
    topics = preparation.topic_plans(ROOT)

    assert {"tasks.pending", "tasks.events", "tasks.dlq", "tasks.worker.echo"} <= topics.keys()
    assert topics["tasks.worker.echo"].partitions == 6
    assert topics["tasks.dlq"].configs["message.timestamp.type"] == "LogAppendTime"
