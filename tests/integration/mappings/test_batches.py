"""The events that a function receives: their shape, size and gathering time."""

import asyncio
from datetime import timedelta

from taskmill_local.mappings.limits import Limits
from tests.integration.mappings.stage import (
    DONE,
    SOON,
    Function,
    Topic,
    mapped,
    places,
    records,
    values,
    waiting,
)
from tests.waiting import eventually_async

SIX_MB = 6_291_456
NEVER = timedelta(seconds=300)


def deliver(topic, *, count, **changes):
    """Run a mapping until it has delivered that many records."""
    function = Function()
    limits = changes.pop("limits", None)

    async def scenario():
        async with mapped(topic.plan(**changes), function, brokers=topic.brokers, limits=limits):
            await eventually_async(
                lambda: len(function.seen) >= count, within=SOON, reason="all is delivered"
            )

    asyncio.run(scenario())
    return function


def test_an_event_has_the_platforms_shape(brokers):
    topic = Topic.create(brokers, message_timestamp_type="CreateTime")
    headers = [("trace", b"\x00\x7f\x80\xff"), ('na"me', b""), ("trace", b"again")]
    topic.send(
        [
            {
                "partition": 3,
                "key": b"k\xff",
                "value": b'{"a":1}',
                "headers": headers,
                "timestamp": 1_763_000_000_123,
            }
        ]
    )
    [event] = deliver(topic, count=1).events
    assert event == {
        "eventSource": "SelfManagedKafka",
        "bootstrapServers": brokers,
        "records": {
            f"{topic.name}-3": [
                {
                    "topic": topic.name,
                    "partition": 3,
                    "offset": 0,
                    "timestamp": 1_763_000_000_123,
                    "timestampType": "CREATE_TIME",
                    "key": "a/8=",
                    "value": "eyJhIjoxfQ==",
                    "headers": [
                        {"trace": [0, 127, -128, -1]},
                        {'na"me': []},
                        {"trace": [97, 103, 97, 105, 110]},
                    ],
                }
            ]
        },
    }


def test_an_event_of_a_managed_cluster_names_it(brokers):
    topic = Topic.create(brokers, message_timestamp_type="LogAppendTime")
    topic.fill([b"x"])
    arn = "arn:aws:kafka:us-east-1:000000000000:cluster/local/0"
    [event] = deliver(topic, count=1, cluster=arn).events
    [[record]] = event.pop("records").values()
    assert event == {
        "eventSource": "aws:kafka",
        "eventSourceArn": arn,
        "bootstrapServers": brokers,
    }
    assert record["timestampType"] == "LOG_APPEND_TIME"


def test_what_a_record_lacks_is_left_out_of_the_event(topic):
    topic.send([{"value": None, "key": b"gone", "partition": 0}, {"value": b"", "partition": 0}])
    event_records = [
        record for event in deliver(topic, count=2).events for record in records(event)
    ]
    timeless = [
        {name: value for name, value in record.items() if not name.startswith("timestamp")}
        for record in event_records
    ]
    place = {"topic": topic.name, "partition": 0, "headers": []}
    assert timeless == [
        {**place, "offset": 0, "key": "Z29uZQ=="},
        {**place, "offset": 1, "value": ""},
    ]


def test_the_brokers_own_time_is_named_as_such(topic):
    topic.fill([b"x"])
    [record] = records(deliver(topic, count=1).events[0])
    assert record["timestampType"] == "LOG_APPEND_TIME"


def test_a_batch_takes_records_of_all_partitions_up_to_its_size(topic):
    for partition in range(6):
        topic.fill([b"x"] * 10, partition=partition)
    function = deliver(topic, count=60, batch_size=60, window=NEVER)
    assert [len(records(event)) for event in function.events] == [60]
    assert len(function.events[0]["records"]) == 6


def test_no_batch_is_larger_than_its_size(topic):
    topic.fill([b"x"] * 250)
    function = deliver(topic, count=250, batch_size=40)
    assert max(len(records(event)) for event in function.events) == 40
    assert function.seen == [(0, offset) for offset in range(250)]


def test_no_event_is_larger_than_six_megabytes(topic):
    topic.fill([b"x" * 1_000_000] * 13)  # the last one lets it be known that four are full
    function = deliver(topic, count=12, window=NEVER)
    assert max(function.sizes) <= SIX_MB
    assert [len(records(event)) for event in function.events] == [4, 4, 4]
    assert function.seen == [(0, offset) for offset in range(12)]


def test_an_event_may_be_filled_to_the_last_byte(topic):
    topic.fill([b"x" * 100] * 8)
    [exact] = set(deliver(topic, count=4, batch_size=4, window=NEVER, group="one").sizes[:1])
    for ceiling, expected in ((exact, 4), (exact - 1, 3)):
        function = deliver(
            topic,
            count=expected,
            window=NEVER,
            group=f"group-{ceiling}",
            limits=Limits(event_bytes=ceiling),
        )
        assert len(records(function.events[0])) == expected


def test_a_record_larger_than_an_event_travels_alone(topic):
    topic.fill([b"small", b"x" * 5_000, b"small"])
    function = deliver(topic, count=3, limits=Limits(event_bytes=1_000))
    assert [places(event) for event in function.events] == [[(0, 0)], [(0, 1)], [(0, 2)]]


def test_the_largest_record_of_a_topic_is_delivered(topic):
    value = b"x" * (2_097_152 - 200)
    topic.fill([value])
    assert values(deliver(topic, count=1).events[0]) == [value]


def test_without_a_window_a_lone_record_goes_at_once(topic):
    topic.fill([b"x"])
    assert deliver(topic, count=1, batch_size=10_000).seen == [(0, 0)]


def test_a_full_batch_does_not_wait_for_its_window(topic):
    topic.fill([b"x"] * 20)
    function = deliver(topic, count=20, batch_size=10, window=NEVER)
    assert [len(records(event)) for event in function.events] == [10, 10]


def test_a_window_collects_what_arrives_apart(topic):
    function = Function()

    async def scenario():
        plan = topic.plan(window=NEVER, batch_size=3)
        async with mapped(plan, function, brokers=topic.brokers) as mappings:
            for partition in range(2):
                await asyncio.to_thread(topic.fill, [b"x"], partition=partition)
                await eventually_async(
                    lambda: waiting(mappings) == partition + 1,  # noqa: B023 - awaited at once
                    within=SOON,
                    reason="it is fetched, and waits for more",
                )
            await asyncio.to_thread(topic.fill, [b"x"], partition=2)
            await eventually_async(
                lambda: len(function.seen) == 3, within=SOON, reason="no more is waited for"
            )

    asyncio.run(scenario())
    assert len(function.events) == 1


def test_what_arrives_during_a_batch_goes_together_in_the_next(topic):
    release = asyncio.Event()

    async def hold(_event):
        await release.wait()
        return DONE

    function = Function(hold)

    async def scenario():
        topic.fill([b"first"])
        async with mapped(topic.plan(), function, brokers=topic.brokers) as mappings:
            await eventually_async(lambda: function.events, within=SOON, reason="the first begins")
            await asyncio.to_thread(topic.fill, [b"more"] * 50)
            await eventually_async(
                lambda: waiting(mappings) == 50, within=SOON, reason="the rest is fetched"
            )
            release.set()
            await eventually_async(
                lambda: len(function.seen) == 51, within=SOON, reason="all is delivered"
            )

    asyncio.run(scenario())
    assert [len(records(event)) for event in function.events] == [1, 50]


def test_beside_a_batch_in_flight_the_next_gathers(topic):
    release = asyncio.Event()

    async def hold(_event):
        await release.wait()
        return DONE

    function = Function(hold)

    async def scenario():
        topic.fill([b"first"])
        plan = topic.plan(batch_size=3)
        limits = Limits(gather=NEVER)
        async with mapped(plan, function, brokers=topic.brokers, limits=limits) as mappings:
            await eventually_async(lambda: function.events, within=SOON, reason="the first begins")
            for partition in (1, 2):
                await asyncio.to_thread(topic.fill, [b"more"], partition=partition)
            await eventually_async(
                lambda: waiting(mappings) == 2, within=SOON, reason="two are fetched and gather"
            )
            await asyncio.to_thread(topic.fill, [b"the last"], partition=3)
            await eventually_async(
                lambda: len(function.events) == 2, within=SOON, reason="a full batch goes"
            )
            release.set()

    asyncio.run(scenario())
    assert [len(records(event)) for event in function.events] == [1, 3]


def test_a_mapping_with_a_window_still_gives_away_a_lone_record(topic):
    topic.fill([b"x"])
    assert deliver(topic, count=1, window=timedelta(milliseconds=500)).seen == [(0, 0)]
