"""Arbitrary records in any topic stop nothing, and later records are processed."""

import time
from contextlib import closing
from uuid import uuid4

import pytest
from confluent_kafka import Producer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from taskmill.core import topics
from taskmill.core.task import DEFAULT_TENANT, TaskType, keyed_id
from taskmill.settings.access import KafkaAccess
from taskmill.stores.catalogue import AssembledCatalogue
from taskmill.stores.kafka.cluster import Cluster
from taskmill.stores.kafka.producer import Producer as Producing
from tests.records import SHAPES, headers, values
from tests.waiting import eventually

PATIENCE = 25
LONG = 60
TYPES = [entry.name for entry in AssembledCatalogue().entries()]
TOPICS = [topics.INBOX, topics.PENDING, topics.EVENTS, topics.DLQ, *map(topics.worker, TYPES)]
GOOD = {
    "echo": ({"say": "still"}, "succeeded"),
    "email": ({"to": ["a@b.example"], "subject": "still", "text": "here"}, "succeeded"),
    "report": ({"columns": ["still"], "rows": [[17]]}, "succeeded"),
    "webhook": ({"url": "https://a.example/", "secret": "nobodys"}, "dead"),  # and nothing is sent
}
SOME = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
lines = st.tuples(st.sampled_from(TOPICS), st.none() | st.binary(max_size=9), values, headers)


def write(client, answer):
    brokers = client.platform()["stores"]["Kafka"]["address"]
    largest = {"message.max.bytes": 2_000_000}
    producer = Producer({"bootstrap.servers": brokers, "acks": "all"} | largest)
    for topic, key, value, named in answer:
        producer.produce(topic, value, key, headers=list(named.items()))
    assert producer.flush(PATIENCE) == 0


def test_what_people_send_by_mistake_stops_nobody(client):
    write(client, [(topic, None, value, {}) for topic in TOPICS for value in SHAPES])
    assert status_behind_it(client) == "succeeded"


class NoText(str):
    """A group name that is nonsense in any alphabet; brokers do not check it."""

    __slots__ = ()

    def encode(self, *_):
        return b"\xff\xfe"


def test_a_header_whose_name_is_no_text_stops_nobody(client):
    brokers = client.platform()["stores"]["Kafka"]["address"]
    until = time.monotonic() + LONG
    with closing(Cluster(KafkaAccess(brokers=brokers), until=until)) as cluster:
        producer = Producing(cluster, until=until)
        for topic in TOPICS:
            producer.send(topic, [b"odd"] * 12, headers=[(NoText("x"), b"1")], until=until)
        producer.flush()
    assert status_behind_it(client) == "succeeded"


@SOME
@given(st.lists(lines, min_size=5, max_size=20))
def test_any_records_on_any_topics_stop_nobody(client, answer):
    write(client, answer)
    assert status_behind_it(client) == "succeeded"


def test_a_bad_trace_on_a_record_does_no_harm(client):
    traces = {uuid4().hex: octets for octets in (b"00-zz-zz-01", b"", b"\xff\x00", b"0" * 5_000)}
    answer = [
        {"idempotency-key": key.encode(), "traceparent": octets, "X-Amzn-Trace-Id": octets}
        for key, octets in traces.items()
    ]
    write(client, [(topics.INBOX, None, b'{"type": "echo"}', named) for named in answer])
    tasks = [keyed_id(DEFAULT_TENANT, TaskType("echo"), key) for key in traces]
    eventually(
        lambda: all('"succeeded"' in client.get(f"/v1/tasks/{one}").text for one in tasks),
        within=LONG,
        reason="each became a task, and has run",
    )


@pytest.mark.parametrize("kind", TYPES)
def test_behind_all_of_it_a_task_of_each_type_comes_to_its_end(client, kind):
    payload, end = GOOD[kind]
    task = client.submit(payload, type=kind)["id"]
    assert client.task(task, wait=PATIENCE)["status"] == end
    eventually(
        lambda: (
            client.get(f"/v1/tasks/{task}/history").body.get("facts", [{}])[-1].get("kind")
            in {"succeeded", "died"}
        ),
        within=LONG,
        reason="the ledger has it",
    )


def status_behind_it(client):
    """Return how a task submitted now ends, once nothing waits any more."""
    task = client.task(client.submit({"say": "still"})["id"], wait=PATIENCE)
    eventually(
        lambda: client.platform()["lag"] == 0,
        within=LONG,
        reason="later records are processed",
    )
    return task["status"]
