"""The doors of a running system: each takes requests in its own way, and tells its refusals."""

import json
from contextlib import closing

from confluent_kafka import Consumer, Producer, TopicPartition

from taskmill.domain import topics
from tests.acceptance.client import PATIENCE_SECONDS
from tests.waiting import eventually

TAKEN = "taken"


class Http:
    def __init__(self, stack):
        self._client = stack.client

    def bring(self, cases):
        """Return what each case comes to, by its name: TAKEN, or code and pointer."""
        return {name: self._bring(case) for name, case in cases.items()}

    def _bring(self, case):
        headers = {} if case.header_key is None else {"Idempotency-Key": case.header_key}
        answer = self._client.ask("POST", "/v1/tasks", case.body, **headers)
        if answer.status in {200, 202}:
            return TAKEN
        return answer.body["type"], answer.body.get("field")


class Inbox:
    def __init__(self, stack):
        self._client = stack.client
        self._brokers = stack.client.platform()["stores"]["Kafka"]["address"]

    def bring(self, cases):
        begin = self._end_of_dlq()
        places = self._write(cases)
        eventually(
            lambda: self._has_read(places), within=PATIENCE_SECONDS, reason="the inbox is read"
        )
        refused = self._refused(begin)
        return {name: refused.get(place, TAKEN) for name, place in places.items()}

    def _write(self, cases):
        """Write the cases in their order into one partition, and return their offsets."""
        places = {}
        producer = Producer(
            {
                "bootstrap.servers": self._brokers,
                "acks": "all",
                "enable.idempotence": True,
                "message.max.bytes": 2_000_000,
            }
        )
        for name, case in cases.items():
            key = None if case.header_key is None else case.header_key.encode("latin-1")

            def note(error, message, name=name):
                assert error is None, error
                places[name] = str(message.offset())

            headers = [] if key is None else [("idempotency-key", key)]
            producer.produce(
                topics.INBOX, case.body, partition=0, headers=headers, on_delivery=note
            )
        assert producer.flush(PATIENCE_SECONDS) == 0
        return places

    def _has_read(self, places):
        """Tell whether the function is done with all of these, by what its mapping committed."""
        with closing(self._consumer(topics.INBOX_READER.group)) as consumer:
            (at,) = consumer.committed([TopicPartition(topics.INBOX, 0)], timeout=PATIENCE_SECONDS)
        return at.offset > max(map(int, places.values()))

    def _end_of_dlq(self):
        with closing(self._consumer()) as consumer:
            return consumer.get_watermark_offsets(TopicPartition(topics.DLQ, 0))[1]

    def _refused(self, begin):
        """Return code and pointer of what was refused since, by its offset in the inbox."""
        told = {}
        with closing(self._consumer()) as consumer:
            end = consumer.get_watermark_offsets(TopicPartition(topics.DLQ, 0))[1]
            consumer.assign([TopicPartition(topics.DLQ, 0, begin)])
            while begin < end:
                for message in consumer.consume(end - begin, timeout=1):
                    begin = message.offset() + 1
                    headers = {name: value.decode() for name, value in message.headers() or ()}
                    if (headers.get("topic"), headers.get("partition")) == (topics.INBOX, "0"):
                        told[headers["offset"]] = headers["reason"], headers.get("field")
        return told

    def _consumer(self, group="a test"):
        return Consumer(
            {
                "bootstrap.servers": self._brokers,
                "group.id": group,
                "enable.auto.commit": False,
            }
        )


def request(**fields):
    return json.dumps({"type": "echo"} | fields).encode()
