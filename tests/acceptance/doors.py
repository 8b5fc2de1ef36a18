"""The entry points of a running system: each accepts and refuses requests in its own way."""

import json
import re
from contextlib import closing

import psycopg
from confluent_kafka import Consumer, Producer, TopicPartition

from taskmill.core import topics
from tests.acceptance.client import PATIENCE_SECONDS
from tests.waiting import eventually

TAKEN = "taken"
UNAVAILABLE = 503
_ENQUEUE = """
SELECT taskmill.enqueue(
    %(type)s, %(payload)s::json,
    idempotency_key => %(idempotency_key)s,
    delay_seconds => %(delay_seconds)s,
    run_at => %(run_at)s::timestamptz,
    expires_at => %(expires_at)s::timestamptz,
    max_attempts => %(max_attempts)s,
    timeout_seconds => %(timeout_seconds)s,
    retry => %(retry)s::json,
    metadata => %(metadata)s::json,
    payload_ref => %(payload_ref)s::json,
    priority => %(priority)s::text,
    fairness_key => %(fairness_key)s
)::text
"""
_ARGUMENTS = set(re.findall(r"%\((\w+)\)s", _ENQUEUE))
_AS_JSON = {"payload", "retry", "metadata", "payload_ref"}
_LATEST_ROW = "SELECT max(id) FROM enqueued WHERE task_id = %s"
_ROWS = """
SELECT id, parked_reason, parked_pointer FROM enqueued
WHERE id = ANY(%s) AND (done_at IS NOT NULL OR parked_at IS NOT NULL)
"""


class Http:
    def __init__(self, stack):
        self._client = stack.client

    def bring(self, cases):
        """Return the result of each case by its name: TAKEN, or code and pointer."""
        return {name: self._bring(case) for name, case in cases.items()}

    def _bring(self, case):
        """Repeat while a store is slow: the answer is then that of a repeated request."""
        headers = {} if case.header_key is None else {"Idempotency-Key": case.header_key}
        answers = []

        def is_answered():
            answers.append(self._client.ask("POST", "/v1/tasks", case.body, **headers))
            return answers[-1].status != UNAVAILABLE and "dedupe" not in answers[-1].body

        eventually(is_answered, within=PATIENCE_SECONDS, reason="an answer for good")
        answer = answers[-1]
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
        """Write the cases in order to one partition, and return their offsets."""
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
        """Return whether the function has finished all of these, by its mapping's commits."""
        with closing(self._consumer(topics.INBOX_READER.group)) as consumer:
            (at,) = consumer.committed([TopicPartition(topics.INBOX, 0)], timeout=PATIENCE_SECONDS)
        return at.offset > max(map(int, places.values()))

    def _end_of_dlq(self):
        with closing(self._consumer()) as consumer:
            return consumer.get_watermark_offsets(TopicPartition(topics.DLQ, 0))[1]

    def _refused(self, begin):
        """Return code and pointer of recent refusals, by their offset in the inbox."""
        result = {}
        with closing(self._consumer()) as consumer:
            end = consumer.get_watermark_offsets(TopicPartition(topics.DLQ, 0))[1]
            consumer.assign([TopicPartition(topics.DLQ, 0, begin)])
            while begin < end:
                for message in consumer.consume(end - begin, timeout=1):
                    begin = message.offset() + 1
                    headers = {name: value.decode() for name, value in message.headers() or ()}
                    if (headers.get("topic"), headers.get("partition")) == (topics.INBOX, "0"):
                        result[headers["offset"]] = headers["reason"], headers.get("field")
        return result

    def _consumer(self, group="a test"):
        return Consumer(
            {
                "bootstrap.servers": self._brokers,
                "group.id": group,
                "enable.auto.commit": False,
            }
        )


class Sql:
    """The function `taskmill.enqueue`, and the rows that it writes."""

    def __init__(self, stack):
        self._address = stack.client.platform()["stores"]["PostgreSQL"]["address"]

    def bring(self, cases):
        result, rows = {}, {}
        with (
            psycopg.connect(self._address, user="taskmill_enqueue", autocommit=True) as caller,
            psycopg.connect(self._address, autocommit=True) as ledger,
        ):
            for name, case in cases.items():
                try:
                    (task_id,) = caller.execute(_ENQUEUE, arguments(case)).fetchone()
                except psycopg.errors.InvalidParameterValue as error:
                    result[name] = error.diag.constraint_name, f"/{error.diag.column_name}"
                else:
                    (rows[name],) = ledger.execute(_LATEST_ROW, (task_id,)).fetchone()
            ends = self._await_ends(ledger, list(rows.values()))
        return {name: result.get(name) or ends[rows[name]] for name in cases}

    def _await_ends(self, ledger, rows):
        """Return for each row that it was taken, or why it was parked."""
        ends = {}

        def have_ended():
            for row, code, pointer in ledger.execute(_ROWS, (rows,)).fetchall():
                ends[row] = (code, pointer) if code else TAKEN
            return len(ends) == len(rows)

        eventually(have_ended, within=PATIENCE_SECONDS, reason="every row is taken or parked")
        return ends


def arguments(case):
    """Return a request as arguments of the SQL function."""
    given = dict.fromkeys(_ARGUMENTS) | json.loads(case.body)
    return {
        name: json.dumps(value) if name in _AS_JSON and value is not None else value
        for name, value in given.items()
    }


def request(**fields):
    return json.dumps({"type": "echo"} | fields).encode()
