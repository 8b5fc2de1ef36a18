"""Order within a partition, and what may run concurrently."""

import asyncio
import random
from datetime import timedelta

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
from tests.waiting import eventually_async

IMPATIENT = Limits(first_delay=timedelta(milliseconds=1), longest_delay=timedelta(milliseconds=20))


def test_a_partition_keeps_its_order_whatever_fails(topic):
    chance = random.Random(7)
    accepted = []

    async def moody(event):
        await asyncio.sleep(0)
        given = places(event)
        if chance.random() < 0.3:
            return BROKEN
        failed = [place for place in given if chance.random() < 0.1]
        lowest = dict(sorted(failed, reverse=True))
        accepted.extend(place for place in given if place[1] < lowest.get(place[0], place[1] + 1))
        return named(topic, *failed)

    function = Function(moody)

    async def scenario():
        for partition in range(6):
            topic.fill([b"x"] * 200, partition=partition)
        plan = topic.plan(batch_size=50)
        async with mapped(plan, function, brokers=topic.brokers, limits=IMPATIENT) as mappings:
            await eventually_async(
                lambda: len(accepted) >= 1_200, within=SOON, reason="all is accepted"
            )
            await eventually_async(
                lambda: lag(mappings) == 0, within=SOON, reason="all is committed"
            )

    asyncio.run(scenario())
    for partition in range(6):
        offsets = [offset for at, offset in accepted if at == partition]
        assert offsets == list(range(200))
    assert function.overlaps == 0


def test_a_partition_has_one_batch_in_flight_while_others_go_on(topic):
    release = asyncio.Event()

    async def hold_the_first(event):
        if (0, 0) in places(event):
            await release.wait()
        return DONE

    function = Function(hold_the_first)

    async def scenario():
        topic.fill([b"x"])
        async with mapped(topic.plan(), function, brokers=topic.brokers) as mappings:
            await eventually_async(lambda: function.events, within=SOON, reason="it is held")
            await asyncio.to_thread(topic.fill, [b"x"] * 20, partition=0)
            for partition in range(1, 6):
                await asyncio.to_thread(topic.fill, [b"x"] * 20, partition=partition)
            await eventually_async(
                lambda: len(function.done) == 100, within=SOON, reason="the others are done"
            )
            await eventually_async(
                lambda: lag(mappings) == 21, within=SOON, reason="only the held one lags"
            )
            release.set()
            await eventually_async(
                lambda: lag(mappings) == 0, within=SOON, reason="the held one catches up"
            )

    asyncio.run(scenario())
    assert function.overlaps == 0
    assert {partition for partition, _ in function.done[:100]} == {1, 2, 3, 4, 5}


def test_no_more_batches_run_at_once_than_the_pollers_hand_over(topic):
    gate = asyncio.Semaphore(0)

    async def pass_the_gate(_event):
        await gate.acquire()
        return DONE

    function = Function(pass_the_gate)

    async def scenario():
        for partition in range(6):
            topic.fill([b"x"] * 3, partition=partition)
        plan = topic.plan(batch_size=1, most_in_flight=2)
        async with mapped(plan, function, brokers=topic.brokers) as mappings:
            await eventually_async(
                lambda: waiting(mappings) == 16, within=SOON, reason="all is fetched"
            )
            for delivered in range(1, 19):
                await eventually_async(
                    lambda: len(function.events) >= min(delivered + 1, 18),  # noqa: B023 - awaited at once
                    within=SOON,
                    reason="two are in flight",
                )
                gate.release()
            await eventually_async(lambda: lag(mappings) == 0, within=SOON, reason="all is done")

    asyncio.run(scenario())
    assert function.most_at_once == 2
    assert len(function.done) == 18


def test_a_lone_record_waits_for_no_batch_of_another_partition(topic):
    """A worker's batch has one record, and lasts for minutes."""
    release = asyncio.Event()

    async def hold(_event):
        await release.wait()
        return DONE

    function = Function(hold)
    limits = Limits(gather=timedelta(minutes=5))

    async def scenario():
        plan = topic.plan(batch_size=1)
        async with mapped(plan, function, brokers=topic.brokers, limits=limits) as mappings:
            for partition in range(6):
                await asyncio.to_thread(topic.fill, [b"x"], partition=partition)
                await eventually_async(
                    lambda: len(function.events) == partition + 1,  # noqa: B023 - awaited at once
                    within=SOON,
                    reason="it starts beside those that are held",
                )
            release.set()
            await eventually_async(lambda: lag(mappings) == 0, within=SOON, reason="all is done")

    asyncio.run(scenario())
    assert function.most_at_once == 6


def test_a_second_batch_starts_beside_the_first_when_one_cannot_hold_all(topic):
    both = asyncio.Barrier(2)

    async def meet(_event):
        async with both:
            return DONE

    function = Function(meet)

    async def scenario():
        for partition in range(2):
            topic.fill([b"x"] * 10, partition=partition)
        plan = topic.plan(batch_size=10, window=timedelta(seconds=300))
        async with mapped(plan, function, brokers=topic.brokers):
            await eventually_async(
                lambda: len(function.done) == 20, within=SOON, reason="both meet"
            )

    asyncio.run(scenario())
    assert function.most_at_once == 2


def test_a_reader_that_is_far_ahead_pauses_and_loses_nothing(topic):
    async def linger(_event):
        await asyncio.sleep(0.001)
        return DONE

    function = Function(linger)
    limits = Limits(buffer_records=30)

    async def scenario():
        for partition in range(6):
            topic.fill([b"x" * 500] * 3_000, partition=partition)
        plan = topic.plan(batch_size=20)
        async with mapped(plan, function, brokers=topic.brokers, limits=limits) as mappings:
            await eventually_async(
                lambda: lag(mappings) == 0, within=2 * SOON, reason="all is delivered"
            )

    asyncio.run(scenario())
    for partition in range(6):
        offsets = [offset for at, offset in function.seen if at == partition]
        assert offsets == list(range(3_000))
