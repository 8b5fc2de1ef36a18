"""Which records are retried, when, and what they delay."""

import asyncio
from datetime import timedelta
from itertools import pairwise

from taskmill_local.lambdas.answer import Failed, Failure
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

NEVER = timedelta(seconds=300)
IMPATIENT = Limits(first_delay=timedelta(milliseconds=10))


def deliver(topic, answers, *, limits=IMPATIENT, records=5, batch_size=5):
    """Give the answers to the first batches, then succeed; return all and the last snapshot."""
    scripted = iter(answers)

    async def answer(_event):
        return next(scripted, DONE)

    function = Function(answer)

    async def scenario():
        plan = topic.plan(batch_size=batch_size, window=NEVER)
        async with mapped(plan, function, brokers=topic.brokers, limits=limits) as mappings:
            await eventually_async(lambda: lag(mappings) == 0, within=SOON, reason="all is done")
            return mappings.snapshot()["tasks"]

    topic.fill([b"x"] * records)
    return function, asyncio.run(scenario())


def test_a_batch_that_succeeds_is_counted_once(topic):
    function, snapshot = deliver(topic, [DONE])
    assert function.seen == [(0, offset) for offset in range(5)]
    assert (snapshot.batches, snapshot.records, snapshot.failures) == (1, 5, 0)
    assert snapshot.last_error is None


def test_everything_from_the_lowest_failed_record_on_comes_again(topic):
    function, snapshot = deliver(topic, [named(topic, (0, 4), (0, 2))])
    assert [places(event) for event in function.events] == [
        [(0, 0), (0, 1), (0, 2), (0, 3), (0, 4)],
        [(0, 2), (0, 3), (0, 4)],
    ]
    assert (snapshot.records, snapshot.failures) == (5, 1)


def test_partitions_without_a_failure_are_done(topic):
    for partition in range(1, 5):
        topic.fill([b"x"], partition=partition)
    function, _ = deliver(topic, [named(topic, (3, 0))], batch_size=9)
    assert [len(places(event)) for event in function.events] == [9, 1]
    assert places(function.events[1]) == [(3, 0)]


def test_an_answer_that_cannot_be_read_fails_the_whole_batch(topic):
    function, snapshot = deliver(topic, [named(topic, (0, 2), (0, 99))])
    assert [len(places(event)) for event in function.events] == [5, 5]
    assert snapshot.failures == 1
    assert snapshot.last_error == (
        f"worker failed on {topic.name}-0 from offset 0: "
        f"batchItemFailures names {topic.name}-0 offset 99: not in the batch"
    )


def test_a_failed_invocation_fails_the_whole_batch(topic):
    function, snapshot = deliver(topic, [BROKEN])
    assert [len(places(event)) for event in function.events] == [5, 5]
    assert snapshot.last_error.endswith("handler_error: KeyError: 'id'")


def test_an_invocation_that_raises_fails_the_whole_batch(topic):
    calls = []

    async def explode_once(event):
        calls.append(places(event))
        if len(calls) == 1:
            raise ConnectionError("the pool is gone")
        return DONE

    async def scenario():
        topic.fill([b"x"])
        function = Function(explode_once)
        async with mapped(topic.plan(), function, brokers=topic.brokers) as mappings:
            await eventually_async(lambda: lag(mappings) == 0, within=SOON, reason="all is done")
            return mappings.snapshot()["tasks"].last_error

    assert "ConnectionError: the pool is gone" in asyncio.run(scenario())
    assert calls == [[(0, 0)], [(0, 0)]]


def test_a_failed_batch_comes_again_as_it_was_though_more_has_arrived(topic):
    function, _ = deliver(topic, [BROKEN])
    assert places(function.events[0]) == places(function.events[1])
    sizes = []

    async def fail_until_more(event):
        sizes.append(len(places(event)))
        if len(sizes) == 1:
            await asyncio.to_thread(topic.fill, [b"x"] * 50)
        return BROKEN if len(sizes) < 3 else DONE

    async def scenario():
        topic.fill([b"x"] * 3)
        plan = topic.plan(batch_size=100, window=timedelta(seconds=1))
        function = Function(fail_until_more)
        async with mapped(plan, function, brokers=topic.brokers) as mappings:
            await eventually_async(
                lambda: len(function.done) == 53, within=SOON, reason="all is done"
            )
            await eventually_async(lambda: lag(mappings) == 0, within=SOON, reason="committed")

    asyncio.run(scenario())
    assert sizes == [3, 3, 3, 50]


def test_the_wait_doubles_up_to_its_ceiling():
    delays = [Limits().delay_after(failures) / timedelta(seconds=1) for failures in range(1, 9)]
    assert delays == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5, 5]
    assert Limits().delay_after(10_000) == timedelta(seconds=5)


def test_a_failing_partition_is_tried_at_growing_intervals(topic):
    limits = Limits(first_delay=timedelta(milliseconds=50))
    function, snapshot = deliver(topic, [BROKEN] * 4, limits=limits)
    waits = [later - earlier for earlier, later in pairwise(function.times)]
    assert all(wait >= least for wait, least in zip(waits, (0.05, 0.1, 0.2, 0.4), strict=True))
    assert snapshot.backing_off == {}


def test_a_success_resets_the_wait(topic):
    limits = Limits(first_delay=timedelta(milliseconds=50), longest_delay=timedelta(seconds=100))
    answers = [BROKEN] * 5 + [DONE] + [BROKEN]
    begun = []

    async def answer(event):
        begun.append(places(event))
        return answers[len(begun) - 1]

    async def scenario():
        function = Function(answer)
        topic.fill([b"x"])
        async with mapped(topic.plan(), function, brokers=topic.brokers, limits=limits) as mappings:
            await eventually_async(lambda: lag(mappings) == 0, within=SOON, reason="it is done")
            await asyncio.to_thread(topic.fill, [b"x"])
            await eventually_async(
                lambda: mappings.snapshot()["tasks"].backing_off, within=SOON, reason="it failed"
            )
            return mappings.snapshot()["tasks"].backing_off[0]

    assert asyncio.run(scenario()) <= timedelta(milliseconds=50)


def test_a_poisoned_partition_does_not_hold_up_others(topic):
    async def choke_on_zero(event):
        return BROKEN if any(partition == 0 for partition, _ in places(event)) else DONE

    function = Function(choke_on_zero)

    async def scenario():
        for partition in range(6):
            topic.fill([b"x"] * 300, partition=partition)
        plan = topic.plan(most_in_flight=1)
        async with mapped(plan, function, brokers=topic.brokers) as mappings:
            await eventually_async(
                lambda: lag(mappings) == 300, within=SOON, reason="the others are done"
            )
            return mappings.snapshot()["tasks"]

    snapshot = asyncio.run(scenario())
    assert snapshot.lag == {0: 300, 1: 0, 2: 0, 3: 0, 4: 0, 5: 0}
    assert snapshot.backing_off.keys() == {0}


def test_a_stopping_platform_is_no_failure_and_gets_no_more(topic):
    async def stopping(_event):
        return Failed(Failure.STOPPING, b"{}")

    function = Function(stopping)

    async def scenario():
        topic.fill([b"x"])
        async with mapped(topic.plan(), function, brokers=topic.brokers) as mappings:
            await eventually_async(lambda: function.events, within=SOON, reason="it is tried")
            await asyncio.to_thread(topic.fill, [b"x"] * 5, partition=1)
            await eventually_async(
                lambda: waiting(mappings) == 5, within=SOON, reason="more has arrived"
            )
            return mappings.snapshot()["tasks"]

    snapshot = asyncio.run(scenario())
    assert len(function.events) == 1
    assert (snapshot.failures, snapshot.last_error) == (0, None)
