"""The event of a Kafka mapping, in its odd shapes."""

from taskmill.adapters.kafka.event import records_of


def test_a_header_without_a_value_is_empty():
    place = {"topic": "t", "partition": 0, "offset": 7, "timestamp": 1}
    event = {"records": {"t-0": [place | {"headers": [{"a": None}, {"b": [-1, 2]}]}]}}
    (record,) = records_of(event)
    assert (record.value, record.headers) == (None, {"a": b"", "b": b"\xff\x02"})
