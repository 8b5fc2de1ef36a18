"""Commits, and redelivery after a stop, a crash and a rebalance."""

import asyncio
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from taskmill_local.mappings.limits import Limits
from tests.integration.mappings.stage import (
    BROKEN,
    DONE,
    SOON,
    Function,
    lag,
    mapped,
    named,
    places,
    waiting,
)
from tests.waiting import eventually, eventually_async

ROOT = Path(__file__).parents[3]
IMPATIENT = Limits(first_delay=timedelta(milliseconds=10))


def start_child(topic):
    """Run a mapping in a separate process; its function never answers a record b'hold'."""
    script = Path(__file__).with_name("holding_child.py")
    return subprocess.Popen([sys.executable, str(script), topic.brokers, topic.name], cwd=ROOT)


def deliver(topic, *, count, function=None, **changes):
    function = function or Function()

    async def scenario():
        async with mapped(topic.plan(**changes), function, brokers=topic.brokers):
            await eventually_async(
                lambda: len(function.done) >= count, within=SOON, reason="all is done"
            )

    asyncio.run(scenario())
    return function


def test_a_stop_commits_so_that_nothing_comes_again(topic):
    for partition in range(6):
        topic.fill([b"x"] * 50, partition=partition)
    assert len(deliver(topic, count=300).done) == 300
    assert [topic.committed(partition) for partition in range(6)] == [50] * 6
    topic.fill([b"new"])
    assert deliver(topic, count=1).seen == [(0, 50)]


def test_nothing_is_committed_past_a_record_that_is_not_done(topic):
    async def choke_on_five(event):
        failed = [place for place in places(event) if place[1] == 5]
        return named(topic, *failed)

    async def scenario():
        topic.fill([b"x"] * 10)
        function = Function(choke_on_five)
        async with mapped(
            topic.plan(), function, brokers=topic.brokers, limits=IMPATIENT
        ) as mappings:
            await eventually_async(lambda: lag(mappings) == 5, within=SOON, reason="five are done")
            tries = len(function.events)
            await eventually_async(
                lambda: len(function.events) > tries + 2, within=SOON, reason="it is tried again"
            )
            return mappings.snapshot()["tasks"].lag[0]

    assert asyncio.run(scenario()) == 5
    assert topic.committed() == 5


def test_the_lag_is_what_was_not_committed(topic):
    release = asyncio.Event()

    async def hold(_event):
        await release.wait()
        return DONE

    function = Function(hold)

    async def scenario():
        for partition in range(6):
            topic.fill([b"x"] * partition, partition=partition)
        async with mapped(topic.plan(), function, brokers=topic.brokers) as mappings:
            await eventually_async(lambda: lag(mappings) == 15, within=SOON, reason="it lags")
            await eventually_async(
                lambda: len(function.seen) == 15, within=SOON, reason="all is in flight"
            )
            before = mappings.snapshot()["tasks"]
            release.set()
            await eventually_async(lambda: lag(mappings) == 0, within=SOON, reason="it is done")
            return before, mappings.snapshot()["tasks"]

    before, after = asyncio.run(scenario())
    assert before.lag == {0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 5}
    assert before.in_flight >= 1
    assert before.waiting == 0
    assert (after.in_flight, after.records) == (0, 15)


def test_a_topic_without_records_has_no_lag(topic):
    async def scenario():
        async with mapped(topic.plan(), Function(), brokers=topic.brokers) as mappings:
            await eventually_async(
                lambda: lag(mappings) is not None, within=SOON, reason="it is known"
            )
            return lag(mappings)

    assert asyncio.run(scenario()) == 0


def test_a_batch_in_flight_at_the_stop_gets_its_grace_and_is_committed(topic):
    begun = asyncio.Event()
    finish = asyncio.Event()

    async def take_a_while(_event):
        begun.set()
        await finish.wait()
        return DONE

    async def scenario():
        topic.fill([b"x"] * 3)
        function = Function(take_a_while)
        async with mapped(topic.plan(), function, brokers=topic.brokers) as mappings:
            await asyncio.wait_for(begun.wait(), SOON)
            stop = asyncio.create_task(mappings.stop(timedelta(seconds=SOON)))
            await asyncio.sleep(0)
            finish.set()
            await stop
        return function

    function = asyncio.run(scenario())
    assert topic.committed() == len(function.done) > 0


def test_a_batch_that_outlasts_the_grace_comes_again(topic):
    async def hang(_event):
        await asyncio.Event().wait()

    async def scenario():
        topic.fill([b"x"] * 3)
        function = Function(hang)
        plan = topic.plan(batch_size=3, window=timedelta(seconds=300))
        async with mapped(plan, function, brokers=topic.brokers) as mappings:
            await eventually_async(lambda: function.events, within=SOON, reason="it has begun")
            await mappings.stop(timedelta(milliseconds=1))

    asyncio.run(scenario())
    assert topic.committed() == 0
    assert deliver(topic, count=3).seen == [(0, 0), (0, 1), (0, 2)]


def test_after_a_crash_only_what_was_not_committed_comes_again(topic):
    topic.fill([b"x"] * 50)
    child = start_child(topic)
    try:
        eventually(lambda: topic.committed() == 50, within=SOON, reason="the first are committed")
        topic.fill([b"hold"] * 50)
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert deliver(topic, count=50).seen == [(0, offset) for offset in range(50, 100)]


def test_a_second_platform_takes_a_share_and_gives_it_back_without_loss(topic):
    async def scenario():
        first, second = Function(), Function()
        async with mapped(topic.plan(), first, brokers=topic.brokers) as mappings:
            await eventually_async(lambda: lag(mappings) == 0, within=SOON, reason="all is ours")
            async with mapped(topic.plan(), second, brokers=topic.brokers) as others:
                await eventually_async(
                    lambda: len(others.snapshot()["tasks"].lag) == 3 and not lag(mappings),
                    within=SOON,
                    reason="it is shared",
                )
                await asyncio.to_thread(fill_all, topic, 40)
                await eventually_async(
                    lambda: len(first.done) + len(second.done) == 240,
                    within=SOON,
                    reason="all is done by both",
                )
            await asyncio.to_thread(fill_all, topic, 10)
            await eventually_async(
                lambda: len(first.done) + len(second.done) == 300,
                within=SOON,
                reason="the first goes on alone",
            )
        return first.done, second.done

    first, second = asyncio.run(scenario())
    assert len(second) == 120
    assert sorted(first + second) == [(at, offset) for at in range(6) for offset in range(50)]


def test_partitions_move_while_batches_fail_and_run_and_nothing_is_lost(topic):
    async def moody(event):
        await asyncio.sleep(0.01)
        return BROKEN if len(function.events) % 5 == 0 else DONE

    function = Function(moody)

    async def scenario():
        plan = topic.plan(batch_size=20)
        async with mapped(plan, function, brokers=topic.brokers, limits=IMPATIENT) as first:
            await eventually_async(lambda: lag(first) == 0, within=SOON, reason="all is ours")
            await asyncio.to_thread(fill_all, topic, 400)
            for _ in range(3):
                async with mapped(plan, function, brokers=topic.brokers, limits=IMPATIENT) as other:
                    await eventually_async(
                        lambda: len(other.snapshot()["tasks"].lag) == 3,
                        within=SOON,
                        reason="it has its share",
                    )
            await eventually_async(lambda: lag(first) == 0, within=SOON, reason="all is done")

    asyncio.run(scenario())
    assert set(function.done) == {(at, offset) for at in range(6) for offset in range(400)}


def test_a_platform_that_crashes_leaves_its_share_to_the_other(topic):
    async def scenario():
        function = Function()
        child = start_child(topic)
        try:
            async with mapped(topic.plan(), function, brokers=topic.brokers) as mappings:
                await eventually_async(
                    lambda: len(mappings.snapshot()["tasks"].lag) == 3,
                    within=SOON,
                    reason="it is shared",
                )
                for partition in range(6):
                    await asyncio.to_thread(topic.fill, [b"hold"] * 5, partition=partition)
                child.send_signal(signal.SIGKILL)
                await eventually_async(
                    lambda: len(function.done) == 30, within=2 * SOON, reason="all is taken over"
                )
        finally:
            child.kill()
            child.wait()
        return function.seen

    assert sorted(asyncio.run(scenario())) == [
        (at, offset) for at in range(6) for offset in range(5)
    ]


def lose(topic, before):
    """Let retention delete the records before an offset of the first partition."""
    admin = AdminClient({"bootstrap.servers": topic.brokers, "log_level": 0})
    for gone in admin.delete_records([TopicPartition(topic.name, 0, before)]).values():
        gone.result(timeout=SOON)


def test_a_mapping_whose_records_are_gone_goes_on_with_the_first_that_is_there(topic):
    topic.fill([b"x"] * 10)
    deliver(topic, count=10)
    topic.fill([b"x"] * 10)
    lose(topic, before=15)
    assert deliver(topic, count=5).seen == [(0, offset) for offset in range(15, 20)]
    assert topic.committed() == 20


def test_a_mapping_whose_group_was_forgotten_begins_with_the_first_record(topic):
    """After seven idle days a broker forgets a group; from the latest on, records would be lost."""
    topic.fill([b"x"] * 10)
    deliver(topic, count=10)
    admin = AdminClient({"bootstrap.servers": topic.brokers, "log_level": 0})
    (gone,) = admin.delete_consumer_groups([topic.plan().group]).values()
    gone.result(timeout=SOON)
    topic.fill([b"x"] * 5)
    assert deliver(topic, count=15).seen == [(0, offset) for offset in range(15)]
    assert topic.committed() == 15


def test_a_mapping_under_which_records_go_goes_on_behind_them(topic):
    """It holds as many as it may, and does not read the others yet."""
    release = asyncio.Event()

    async def hold(_event):
        await release.wait()
        return DONE

    async def scenario():
        topic.fill([b"x" * 1000] * 1_000)
        function = Function(hold)
        narrow = Limits(buffer_records=100)
        async with mapped(topic.plan(), function, brokers=topic.brokers, limits=narrow) as mappings:
            await eventually_async(
                lambda: waiting(mappings) > 100, within=SOON, reason="it holds more than it may"
            )
            await asyncio.to_thread(topic.fill, [b"x" * 1000] * 8_000)
            await asyncio.to_thread(lose, topic, 8_990)
            release.set()
            await eventually_async(
                lambda: (0, 8_999) in function.done, within=SOON, reason="the last one is done"
            )
            await eventually_async(lambda: lag(mappings) == 0, within=SOON, reason="no lag is left")
        return function

    seen = asyncio.run(scenario()).seen
    assert seen[-10:] == [(0, offset) for offset in range(8_990, 9_000)]
    assert len(seen) < 9_000


def fill_all(topic, count):
    for partition in range(6):
        topic.fill([b"x"] * count, partition=partition)
