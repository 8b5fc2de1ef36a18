"""Started stores are prepared for tasks; a Redis that may have lost data is not trusted."""

import asyncio
import shutil
import tempfile
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from taskmill.stores.redis.keys import ShardKeys, lane_keys
from taskmill.stores.redis.session import Session
from taskmill_local import preparation
from taskmill_local.errors import StoreFailed
from taskmill_local.settings import SHARDS
from taskmill_local.stores.home import prepare_home
from taskmill_local.stores.server import Server
from taskmill_local.stores.valkey import start_valkey

ROOT = Path(__file__).parents[3]
MARKERS = [ShardKeys(shard, SHARDS).marker for shard in range(SHARDS)]
TYPES = ["echo", "sleep"]
LANES = [lane_keys(one).marker for one in TYPES]


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
    for first, *_ in (MARKERS, LANES):
        session.command("SET", first, "the last run")
    preparation.open_or_leave(url, TYPES, checksum=checksum)
    run_id = session.run_id().encode()
    found = [[session.command("GET", key) == run_id for key in keys] for keys in (MARKERS, LANES)]
    session.close()
    return found


ALL = [[True] * SHARDS, [True] * len(TYPES)]
NONE = [[False] * SHARDS, [False] * len(TYPES)]
FIRST_ONLY = [[True] + [False] * (SHARDS - 1), [True] + [False] * (len(TYPES) - 1)]


@pytest.mark.parametrize(
    ("checksum", "are_open"),
    [("", ALL), ("the last run", FIRST_ONLY), (None, NONE)],
    ids=["new", "stopped", "not known"],
)
def test_only_what_was_open_and_lost_nothing_is_open_without_a_rebuild(checksum, are_open):
    async def scenario():
        async with a_valkey() as url:
            return await asyncio.to_thread(markers_after, url, checksum=checksum)

    assert asyncio.run(scenario()) == are_open


def test_a_redis_that_does_not_answer_is_a_sentence():
    with pytest.raises(StoreFailed, match=r"Redis does not answer.*TASKMILL_REDIS_URL"):
        preparation.open_or_leave("redis://127.0.0.1:1/0", TYPES, checksum=None)


def test_a_database_that_is_not_there_is_a_sentence():
    with pytest.raises(StoreFailed, match="schema cannot be brought up to date"):
        preparation.bring_up_to_date("postgresql://nobody@127.0.0.1:1/none", ROOT)


def test_each_type_of_the_catalogue_has_a_lane():
    assert {"echo", "webhook"} <= set(preparation.deployed_types(ROOT))


def test_each_type_of_the_catalogue_has_a_topic():
    topics = preparation.topic_plans(ROOT, processes=2)

    assert {"tasks.pending", "tasks.events", "tasks.dlq", "tasks.worker.echo"} <= topics.keys()
    assert topics["tasks.pending"].partitions == 6
    assert topics["tasks.dlq"].configs["message.timestamp.type"] == "LogAppendTime"


@pytest.mark.parametrize(("processes", "partitions"), [(1, 1), (2, 2), (100, 6)])
def test_a_type_has_no_more_partitions_than_processes(processes, partitions):
    topics = preparation.topic_plans(ROOT, processes=processes)

    assert topics["tasks.worker.echo"].partitions == partitions


def test_a_project_of_a_version_before_lanes_names_no_partitions(tmp_path):
    shutil.copytree(ROOT / "infra/kafka", tmp_path / "infra/kafka")
    catalogue = tmp_path / "shared/taskmill/catalogue.json"
    catalogue.parent.mkdir(parents=True)
    catalogue.write_text('[{"name": "old"}]')

    topics = preparation.topic_plans(tmp_path, processes=2)

    assert topics["tasks.worker.old"].partitions == 2
