"""Each server alone: topics, a reused pid, a failing start."""

import asyncio
import os
import signal
import socket
from dataclasses import astuple
from datetime import timedelta

import psutil
import psycopg
import pytest
from confluent_kafka.admin import AdminClient

from taskmill_local.errors import StoreFailed
from taskmill_local.stores.home import HomeLock, prepare_home
from taskmill_local.stores.java import find_java
from taskmill_local.stores.kafka import start_kafka
from taskmill_local.stores.ports import free_ports
from taskmill_local.stores.postgres import start_postgres
from taskmill_local.stores.server import Server
from taskmill_local.stores.start import External, Stores
from taskmill_local.stores.topics import TopicPlan, create_topics
from tests.integration.stores.processes import is_alive
from tests.waiting import eventually_async

GRACE = timedelta(seconds=10)


def plan(partitions):
    return TopicPlan(partitions=partitions, configs={"cleanup.policy": "compact"})


def partitions_at(brokers):
    topics = AdminClient({"bootstrap.servers": brokers}).list_topics(timeout=10).topics
    return {name: len(topic.partitions) for name, topic in topics.items() if name[0] != "_"}


def test_topics_are_created_and_grown_but_never_twice(home):
    async def scenario():
        prepare_home(home)
        server = Server("Kafka", home)
        try:
            brokers = await start_kafka(server, find_java())
            create_topics(brokers, {"grows": plan(1), "shrinks": plan(3)})
            create_topics(brokers, {"grows": plan(4), "shrinks": plan(2), "new": plan(2)})
            create_topics(brokers, {"grows": plan(4)})
            return partitions_at(brokers)
        finally:
            await server.stop(GRACE)

    assert asyncio.run(scenario()) == {"grows": 4, "shrinks": 3, "new": 2}


ELSEWHERE = {"kafka_brokers": "-", "redis_url": "-", "postgres_dsn": "-"}


@pytest.mark.parametrize("store", ELSEWHERE)
def test_a_port_that_was_taken_meanwhile_is_left_to_who_took_it(home, store):
    async def start(draw):
        others = External(**ELSEWHERE | {store: None})
        stores = Stores(home, external=others, durable=False, draw=draw)
        try:
            return await stores.start(lambda *_: None)
        finally:
            await stores.stop()

    with socket.create_server(("127.0.0.1", 0)) as rival:
        taken = rival.getsockname()[1]
        answers = [lambda count: (taken, *free_ports(count))[:count]]

        def first_the_taken_one(count):
            return answers.pop()(count) if answers else free_ports(count)

        places = asyncio.run(start(first_the_taken_one))
    assert answers == []
    assert all(str(taken) not in str(place) for place in astuple(places))


def test_postgres_starts_though_the_pid_of_its_last_run_now_belongs_to_another(home):
    async def start_and_end(number):
        server = Server("PostgreSQL", home, stop_signal=number)
        try:
            dsns = await start_postgres(server, durable=False)
            with psycopg.connect(dsns.app) as connection:
                return connection.execute("SHOW synchronous_commit").fetchone()
        finally:
            await server.stop(GRACE)

    prepare_home(home)
    asyncio.run(start_and_end(signal.SIGKILL))
    pid_file = home / "stores" / "postgresql" / "data" / "postmaster.pid"
    _, rest = pid_file.read_text().split("\n", 1)
    pid_file.write_text(f"1\n{rest}")  # any live process
    assert asyncio.run(start_and_end(signal.SIGINT)) == ("on",)


def test_postgres_waits_for_the_orphans_of_a_killed_server_to_end(home):
    async def run(scenario):
        server = Server("PostgreSQL", home, stop_signal=signal.SIGINT)
        try:
            return await scenario(server, await start_postgres(server, durable=False))
        finally:
            await server.stop(GRACE)

    async def leave_a_busy_orphan(server, dsns):
        # Arithmetic never looks up: the process behind this connection notices no death meanwhile.
        sums = b"SELECT sum(a * b) FROM generate_series(1, 3000) a, generate_series(1, 6000) b"
        with psycopg.connect(dsns.app) as busy:
            orphan = psutil.Process(busy.info.backend_pid)
            busy.pgconn.send_query(sums)
            await eventually_async(
                lambda: "SELECT" in " ".join(orphan.cmdline()), within=20, reason="nothing to do"
            )
            orphan.suspend()  # so that it is not done before its parent is gone
            orphan.parent().kill()
            busy.close()
        assert is_alive(orphan.pid)
        orphan.resume()

    async def answer(server, dsns):
        return dsns

    prepare_home(home)
    asyncio.run(run(leave_a_busy_orphan))
    asyncio.run(run(answer))


def test_a_server_that_does_not_listen_is_killed_when_its_grace_is_over(home):
    async def scenario():
        prepare_home(home)
        server = Server("Deaf", home)
        server.folder.mkdir()
        ready = server.folder / "ready"
        script = f"trap '' TERM; touch '{ready}'; while :; do sleep 1; done"
        await server.launch("sh", "-c", script, environment={"PATH": os.defpath})
        await eventually_async(ready.exists, within=20, reason="the server did not begin")
        (pid, _) = (home / "stores" / "deaf.pid").read_text().split()
        await server.stop(timedelta(milliseconds=100))
        return int(pid)

    assert not is_alive(asyncio.run(scenario()))


def test_an_interrupted_tool_leaves_no_child_that_still_writes(home):
    """Initdb starts a server of its own, which wrote on into a folder that was being removed."""

    async def scenario():
        prepare_home(home)
        server = Server("Tool", home)
        server.folder.mkdir()
        child = server.folder / "child"
        script = "sh -c 'echo $$ > new; mv new child; while :; do sleep 1; done'; true"
        tool = asyncio.create_task(server.run("sh", "-c", script, environment={"PATH": os.defpath}))
        await eventually_async(child.exists, within=20, reason="the tool did not begin")
        tool.cancel()
        with pytest.raises(asyncio.CancelledError):
            await tool
        return int(child.read_text())

    assert not is_alive(asyncio.run(scenario()))


def test_a_store_that_cannot_start_is_told_with_its_log_and_lets_go_of_the_home(home):
    (home / "stores" / "postgresql" / "data").mkdir(parents=True)
    elsewhere = External(kafka_brokers="127.0.0.1:1", redis_url="redis://127.0.0.1:1")
    stores = Stores(home, external=elsewhere, durable=False)
    with pytest.raises(StoreFailed) as failure:
        asyncio.run(stores.start(lambda name, words: None))
    assert str(home / "logs" / "postgresql.log") in str(failure.value)
    assert "postgres: could not" in str(failure.value) or "not accessible" in str(failure.value)
    HomeLock(home).release()


def test_stores_of_ones_own_are_used_and_their_passwords_are_not_shown(home):
    result = []
    external = External.from_environment(
        {
            "TASKMILL_KAFKA_BROKERS": "broker:9092",
            "TASKMILL_REDIS_URL": "rediss://user:secret@cache:6379",
            "TASKMILL_POSTGRES_DSN": "postgresql://app:secret@ledger:5432/taskmill",
        }
    )

    async def scenario():
        stores = Stores(home, external=external)
        addresses = await stores.start(lambda name, words: result.append((name, words)))
        await stores.stop()
        return addresses

    addresses = asyncio.run(scenario())
    assert addresses.postgres_owner_dsn == "postgresql://app:secret@ledger:5432/taskmill"
    assert sorted(result) == [
        ("Kafka", "external at broker:9092"),
        ("PostgreSQL", "external at ledger:5432"),
        ("Valkey", "external at cache:6379"),
    ]
