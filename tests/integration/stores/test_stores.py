"""All stores together: concurrent start, loopback only, and data that survives any end."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress

import psutil
import psycopg
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from redis import Redis

from taskmill_local.errors import HomeUnusable
from taskmill_local.stores.start import Addresses, Stores
from taskmill_local.stores.topics import TopicPlan, create_topics
from tests.integration.stores.processes import is_alive
from tests.waiting import eventually, eventually_async

PLATFORM = """
import asyncio, dataclasses, json, pathlib, sys
from taskmill_local.stores.start import Stores

async def main():
    stores = Stores(pathlib.Path(sys.argv[1]))
    addresses = await stores.start(lambda name, words: None)
    print(json.dumps({name: getattr(addresses, name) for name in addresses.__slots__}), flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


def nothing_told(name, words):
    pass


def write_everywhere(at, word):
    create_topics(at.kafka_brokers, {"kept": TopicPlan(partitions=1, configs={})})
    producer = Producer({"bootstrap.servers": at.kafka_brokers, "acks": "all"})
    producer.produce("kept", word)
    assert producer.flush(20) == 0
    with Redis.from_url(at.redis_url) as redis:
        redis.rpush("kept", word)
    with psycopg.connect(at.postgres_owner_dsn) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS kept (word text)")
        connection.execute("INSERT INTO kept VALUES (%s)", [word])


def read_everywhere(at, records):
    consumer = Consumer({"bootstrap.servers": at.kafka_brokers, "group.id": "reader"})
    consumer.assign([TopicPartition("kept", 0, 0)])
    kafka = [record.value().decode() for record in consumer.consume(records, timeout=20)]
    consumer.close()
    with Redis.from_url(at.redis_url) as redis:
        valkey = [word.decode() for word in redis.lrange("kept", 0, -1)]
    with psycopg.connect(at.postgres_owner_dsn) as connection:
        postgres = [word for (word,) in connection.execute("SELECT word FROM kept").fetchall()]
    return kafka, valkey, postgres


def descendants(pid):
    return psutil.Process(pid).children(recursive=True)


def listening_addresses(servers):
    found = set()
    for server in servers:
        with suppress(psutil.NoSuchProcess):  # PostgreSQL's connections each have a process
            found |= {
                connection.laddr.ip
                for connection in server.net_connections()
                if connection.status == psutil.CONN_LISTEN
            }
    return found


def test_all_start_side_by_side_on_the_loopback_and_leave_nothing_running(home):
    answer = []
    before = {child.pid for child in descendants(psutil.Process().pid)}

    async def scenario():
        stores = Stores(home, durable=False)
        try:
            at = await stores.start(lambda name, words: answer.append((name, words)))
            write_everywhere(at, "word")
            read = read_everywhere(at, records=1)
            servers = [one for one in descendants(psutil.Process().pid) if one.pid not in before]
            listening = listening_addresses(servers)
            return read, listening, [server.pid for server in servers]
        finally:
            await stores.stop()

    read, listening, servers = asyncio.run(scenario())
    assert read == (["word"],) * 3
    assert listening
    assert listening <= {"127.0.0.1", "::ffff:127.0.0.1"}
    assert {name for name, words in answer[:3] if words == "starting"} == {
        "Kafka",
        "Valkey",
        "PostgreSQL",
    }
    assert all(words.startswith("ready in ") for _, words in answer[3:])
    assert not any(is_alive(pid) for pid in servers)


def test_the_data_outlives_a_stop_and_the_death_of_every_server(home):
    async def run(scenario):
        stores = Stores(home)
        try:
            return await scenario(stores, await stores.start(nothing_told))
        finally:
            await stores.stop()

    async def write_first(stores, at):
        write_everywhere(at, "first")

    async def write_second_and_die(stores, at):
        write_everywhere(at, "second")
        for server in home.glob("stores/*.pid"):
            os.kill(int(server.read_text().split()[0]), signal.SIGKILL)
        await eventually_async(stores.exited, within=20, reason="no death was noticed")
        return stores.exited()

    async def read_both(stores, at):
        return read_everywhere(at, records=2)

    asyncio.run(run(write_first))
    assert "ended unexpectedly (signal SIGKILL)" in asyncio.run(run(write_second_and_die))
    assert asyncio.run(run(read_both)) == (["first", "second"],) * 3


def cut_off_the_end(home):
    (file,) = home.glob("stores/valkey/appendonlydir/*.incr.aof")
    os.truncate(file, file.stat().st_size - 1_024)


def lose_it(home):
    shutil.rmtree(home / "stores/valkey")


def kill_it(home):
    """Start again, and exit without a stop."""

    async def start_and_kill():
        stores = Stores(home, durable=False)
        try:
            await stores.start(nothing_told)
            pid = (home / "stores/valkey.pid").read_text().split()[0]
            os.kill(int(pid), signal.SIGKILL)
            await eventually_async(stores.exited, within=20, reason="no death was noticed")
        finally:
            await stores.stop()

    asyncio.run(start_and_kill())


@pytest.mark.parametrize(
    ("harm", "is_sealed"),
    [(lambda _: None, True), (cut_off_the_end, False), (lose_it, False), (kill_it, False)],
    ids=["stopped", "cut off", "lost", "killed"],
)
def test_a_redis_is_trusted_when_it_was_stopped_and_is_as_it_was(home, harm, is_sealed):
    async def run():
        stores = Stores(home, durable=False)
        try:
            at = await stores.start(nothing_told)
            with Redis.from_url(at.redis_url) as redis:
                redis.set("much", b"x" * 2_048)
                return at.redis_checksum, redis.info("server")["run_id"]
        finally:
            await stores.stop()

    of_a_new_one, first = asyncio.run(run())
    harm(home)
    checksum, _ = asyncio.run(run())
    assert (of_a_new_one, checksum) == ("", first if is_sealed else None)


def test_the_servers_die_with_a_killed_platform_and_the_next_one_finds_the_data(home):
    command = [sys.executable, "-c", PLATFORM, str(home)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as platform:
        at = Addresses(**json.loads(platform.stdout.readline()))
        write_everywhere(at, "kept")
        servers = [server.pid for server in descendants(platform.pid)]
        with pytest.raises(HomeUnusable, match=f"process {platform.pid}"):
            asyncio.run(Stores(home).start(nothing_told))
        platform.send_signal(signal.SIGKILL)

    async def next_platform():
        stores = Stores(home)
        try:
            return read_everywhere(await stores.start(nothing_told), records=1)
        finally:
            await stores.stop()

    assert asyncio.run(next_platform()) == (["kept"],) * 3
    eventually(
        lambda: not any(is_alive(pid) for pid in servers),
        within=20,
        reason="servers outlived their platform",
    )
