"""Unusual forms of a Kafka mapping's event."""

from taskmill.core.log import Position
from taskmill.platform.kafka_event import failures, records_of


def test_a_header_without_a_value_is_empty():
    place = {"topic": "t", "partition": 0, "offset": 7, "timestamp": 1}
    event = {"records": {"t-0": [place | {"headers": [{"a": None}, {"b": [-1, 2]}]}]}}
    (record,) = records_of(event)
    assert (record.value, record.headers) == (None, {"a": b"", "b": b"\xff\x02"})


def test_what_must_come_again_is_named_in_the_only_shape_that_the_platform_takes():
    """An empty or wrong key would mean the whole batch, and nothing at all that all went well."""
    assert failures({Position("tasks.pending", 3, 7), Position("tasks.pending", 1, 9)}) == {
        "batchItemFailures": [
            {"itemIdentifier": {"partition": "tasks.pending-1", "offset": 9}},
            {"itemIdentifier": {"partition": "tasks.pending-3", "offset": 7}},
        ]
    }
    assert failures(()) == {"batchItemFailures": []}
