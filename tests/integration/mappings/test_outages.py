"""A broker that is unavailable at the start, crashes and returns."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from taskmill_local.mappings.client import consumer_settings
from taskmill_local.stores import kafka
from taskmill_local.stores.home import prepare_home
from taskmill_local.stores.java import find_java
from taskmill_local.stores.ports import free_ports
from taskmill_local.stores.server import Server
from tests.integration.mappings.stage import (
    DONE,
    PARTITIONS,
    SOON,
    Function,
    Topic,
    all_mapped,
    lag,
    mapped,
)
from tests.waiting import eventually_async

GRACE = timedelta(seconds=10)
MANY, RECORDS = 14, 300
LONGER_THAN_A_SESSION = 13.0


@asynccontextmanager
async def a_broker(home: Path) -> AsyncIterator[tuple[Server, str]]:
    """Run one and always end it: its clients would log into other tests."""
    server = Server("Kafka", home, stop_signal=signal.SIGKILL)
    try:
        yield server, await kafka.start_kafka(server, find_java())
    finally:
        await server.stop(GRACE)


async def has_committed(topic: Topic, offset: int) -> bool:
    return await asyncio.to_thread(topic.committed) == offset


def pid_of(server: Server) -> int:
    return int((server.folder.parent / "kafka.pid").read_text().split()[0])


async def freeze(server: Server) -> None:
    pid = pid_of(server)
    os.kill(pid, signal.SIGSTOP)
    await asyncio.sleep(LONGER_THAN_A_SESSION)
    os.kill(pid, signal.SIGCONT)


def test_a_mapping_outlives_its_broker(home, capfd):
    ports = free_ports(2)
    brokers = f"127.0.0.1:{ports[0]}"
    function, answer = Function(), []

    async def start():
        server = Server("Kafka", home, draw=lambda _count: ports)  # it comes back where it was
        await kafka.start_kafka(server, find_java())
        return server

    async def scenario():
        server = await start()
        topic = await asyncio.to_thread(Topic.create, brokers)
        await server.stop(GRACE)
        async with mapped(topic.plan(), function, brokers=brokers, report=answer.append):
            await eventually_async(lambda: answer, within=SOON, reason="the outage is reported")
            for count in (1, 2):
                server = await start()
                await asyncio.to_thread(topic.fill, [b"x"] * 10)
                await eventually_async(
                    lambda: len(set(function.done)) == 10 * count,  # noqa: B023 - awaited at once
                    within=2 * SOON,
                    reason="it goes on by itself",
                )
                await eventually_async(
                    lambda: has_committed(topic, 10 * count),  # noqa: B023 - awaited at once
                    within=SOON,
                    reason="all is committed",
                )
                await (server.stop(GRACE) if count == 1 else asyncio.sleep(0))
        await server.stop(GRACE)

    asyncio.run(scenario())
    assert function.seen == [(0, offset) for offset in range(20)]
    assert answer == [
        (
            f"Kafka at {brokers} cannot be reached; the mappings continue automatically when it is"
            " back."
        )
    ]
    assert capfd.readouterr() == ("", "")


def test_all_mappings_go_on_after_a_broker_that_was_frozen(home):
    """A broker that just woke up reports for a while that there are no brokers."""

    async def work(_event):
        await asyncio.sleep(0.02)
        return DONE

    def are_done(mappings):
        seen = mappings.snapshot().values()
        return all(len(one.lag) == PARTITIONS and not any(one.lag.values()) for one in seen)

    async def scenario():
        async with a_broker(home) as (server, brokers):
            topics = [await asyncio.to_thread(Topic.create, brokers) for _ in range(MANY)]
            for topic in topics:
                await asyncio.to_thread(topic.fill, [b"x"] * RECORDS)
            plans = [topic.plan(name=topic.name, batch_size=1) for topic in topics]
            function = Function(work)
            async with all_mapped(plans, function, brokers=brokers) as mappings:
                await eventually_async(
                    lambda: len(function.done) > RECORDS, within=SOON, reason="all are at work"
                )
                await freeze(server)
                await eventually_async(
                    lambda: are_done(mappings), within=2 * SOON, reason="each goes on by itself"
                )

    asyncio.run(scenario())


def test_a_client_that_knows_no_broker_is_exchanged(topic):
    """Like clients that learned that there are no brokers, some of which never ask again."""
    [nobody] = free_ports(1)
    addresses = iter([f"127.0.0.1:{nobody}"])

    def settings(plan, *, brokers):
        return consumer_settings(plan, brokers=next(addresses, brokers))

    topic.fill([b"x"] * 10)
    function = Function()

    async def scenario():
        plan, brokers = topic.plan(), topic.brokers
        async with mapped(plan, function, brokers=brokers, settings=settings) as mappings:
            await eventually_async(
                lambda: lag(mappings) == 0, within=2 * SOON, reason="another client goes on"
            )

    asyncio.run(scenario())
    assert function.seen == [(0, offset) for offset in range(10)]
    assert topic.committed() == 10


def test_a_stop_does_not_wait_for_a_broker_that_is_gone(home):
    async def scenario():
        async with a_broker(home) as (server, brokers):
            topic = await asyncio.to_thread(Topic.create, brokers)
            async with mapped(topic.plan(), Function(), brokers=brokers) as mappings:
                await eventually_async(
                    lambda: len(mappings.snapshot()["tasks"].lag) == PARTITIONS,
                    within=SOON,
                    reason="the topic is assigned",
                )
                await server.stop(GRACE)
                began = time.monotonic()
                await mappings.stop(timedelta(seconds=1))
                return time.monotonic() - began

    assert asyncio.run(scenario()) < 4


def test_a_mapping_waits_for_a_topic_that_does_not_exist_yet(brokers):
    topic = Topic.create(brokers)
    missing = Topic(name=f"{topic.name}-later", brokers=brokers)
    function, answer = Function(), []

    async def scenario():
        async with mapped(missing.plan(), function, brokers=brokers, report=answer.append):
            await eventually_async(lambda: answer, within=SOON, reason="the outage is reported")
            await asyncio.to_thread(missing.make)
            await asyncio.to_thread(missing.fill, [b"x"])
            await eventually_async(lambda: function.done, within=SOON, reason="it goes on")

    asyncio.run(scenario())
    assert answer == [
        (
            f"Topic {missing.name} does not exist; its mapping continues automatically once it is"
            " created."
        )
    ]


def test_a_client_that_keeps_its_partitions_without_a_broker_is_exchanged(home):
    """Without one it does not learn that others have them by now, at least not soon."""
    homes = [home / name for name in ("first", "second")]
    for one in homes:
        prepare_home(one)

    async def scenario():
        async with a_broker(homes[0]) as (gone, first), a_broker(homes[1]) as (_, second):
            topic = await asyncio.to_thread(Topic.create, first)
            there = replace(topic, brokers=second)
            await asyncio.to_thread(there.make)
            await asyncio.to_thread(topic.fill, [b"x"] * 10)
            addresses = iter([first])

            def sticky(plan, *, brokers):
                settings = consumer_settings(plan, brokers=next(addresses, brokers))
                return settings | {"session.timeout.ms": 600_000}

            function = Function()
            async with mapped(topic.plan(), function, brokers=second, settings=sticky):
                await eventually_async(
                    lambda: len(function.seen) == 10, within=SOON, reason="it has its partitions"
                )
                os.kill(pid_of(gone), signal.SIGKILL)
                await asyncio.to_thread(there.fill, [b"x"] * 5)
                await eventually_async(
                    lambda: len(function.seen) == 15,
                    within=2 * SOON,
                    reason="another client goes on",
                )

    asyncio.run(scenario())
