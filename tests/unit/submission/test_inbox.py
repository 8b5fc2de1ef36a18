"""The inbox takes each request once, explains refusals, and retries the rest."""

import json

import pytest
from msgspec.structs import replace

from functions.dispatcher.handler import lambda_handler as dispatcher
from functions.gateway.handler import lambda_handler as gateway
from functions.inbox.handler import lambda_handler as inbox
from functions.recorder.handler import lambda_handler as recorder
from taskmill.core import topics
from taskmill.core.counting import Count
from taskmill.core.task import LAST_MOMENT, TaskType, keyed_id
from tests.builders import a_log_record, a_position
from tests.unit.stage import NOW, Stage, a_kafka_event, an_http_event
from tests.unit.world import Away

ECHO = TaskType("echo")


@pytest.fixture
def stage(monkeypatch):
    stage = Stage()
    stage.bind(monkeypatch)
    return stage


def a_record(offset=0, value=None, at_ms=NOW, headers=None, **fields):
    octets = json.dumps({"type": "echo"} | fields).encode() if value is None else value
    at = a_position(offset, topic=topics.INBOX)
    return replace(a_log_record(octets, at), at_ms=at_ms, headers=headers or {})


def take(stage, *records):
    """Return the offsets to retry."""
    answer = inbox(a_kafka_event(records), stage.context())
    return [one["itemIdentifier"]["offset"] for one in answer["batchItemFailures"]]


def published(stage):
    return stage.log.tasks(topics.PENDING)


def refused(stage):
    """Return the headers of each record on `tasks.dlq`."""
    result = []
    for record in stage.log.records(topics.DLQ):
        names = ("offset", "reason", "field")
        result.append(tuple(record.headers.get(name, b"").decode() for name in names))
    return result


def submit_over_http(stage, **fields):
    headers = {"Content-Type": "application/json"}
    event = an_http_event("POST", "/v1/tasks", headers=headers, body=json.dumps(fields))
    answer = gateway(event, stage.context())
    return answer["statusCode"], json.loads(answer["body"])


def test_a_request_is_a_task_that_was_made_when_its_record_was_written(stage):
    assert take(stage, a_record(payload={"say": "hi"}, metadata={"who": "me"}, at_ms=NOW - 5)) == []
    (task,) = published(stage)
    assert (task.type, bytes(task.payload), task.metadata, task.created_at_ms) == (
        ECHO,
        b'{"say":"hi"}',
        {"who": "me"},
        NOW - 5,
    )
    assert stage.counters.total(Count.INBOX, answer="created") == 1
    assert not stage.hot.due


def test_a_record_that_comes_again_is_the_same_task_and_each_place_is_another(stage):
    again = [a_record(0), a_record(1), a_record(0, at_ms=NOW + 1)]
    for _ in range(3):
        assert take(stage, *again) == []
    assert len({task.id for task in published(stage)}) == len(published(stage)) == 3
    assert stage.counters.total(Count.INBOX, answer="known") == 6


@pytest.mark.parametrize("at_ms", [-1, 0, LAST_MOMENT, LAST_MOMENT + 1, 2**62])
def test_a_moment_that_no_calendar_has_stops_nothing(stage, at_ms):
    assert take(stage, a_record(at_ms=at_ms)) == []
    stage.run(dispatcher, topics.PENDING)
    assert len(stage.waiting()) == 1


@pytest.mark.parametrize("name", ["idempotency-key", "Idempotency-Key"])
def test_a_key_comes_in_a_header_or_in_the_field_and_names_the_task(stage, name):
    records = [a_record(0, headers={name: b"k"}), a_record(1, idempotency_key="k")]
    assert take(stage, *records) == []
    assert {task.id for task in published(stage)} == {keyed_id("default", ECHO, "k")}
    assert stage.counters.total(Count.INBOX, answer="replayed") == 1


def test_a_key_that_was_used_over_http_replays_here_and_the_other_way_round(stage):
    status, result = submit_over_http(stage, type="echo", idempotency_key="k")
    assert status == 202
    assert take(stage, a_record(0, headers={"idempotency-key": b"k"})) == []
    assert [task.id for task in published(stage)] == [result["id"]]
    assert take(stage, a_record(1, idempotency_key="l")) == []
    assert submit_over_http(stage, type="echo", idempotency_key="l")[0] == 200


def test_another_request_under_a_key_is_refused_and_the_first_one_stays(stage):
    records = [a_record(n, idempotency_key="k", payload={"say": str(n)}) for n in range(2)]
    assert take(stage, *records) == []
    assert refused(stage) == [("1", "idempotency_key_reused", "/idempotency_key")]
    assert {bytes(task.payload) for task in published(stage)} == {b'{"say":"0"}'}


def test_what_is_refused_is_listed_in_quarantine_and_stops_no_others(stage):
    assert (
        take(stage, a_record(0, value=b"\xff no JSON"), a_record(1, type="fax"), a_record(2)) == []
    )
    assert refused(stage) == [("0", "bad_request", ""), ("1", "unknown_type", "/type")]
    assert len(published(stage)) == 1
    stage.run(recorder, topics.DLQ)
    kept = sorted(stage.ledger.quarantined.values(), key=lambda one: one.offset)
    assert [(one.topic, one.offset, one.value[:4]) for one in kept] == [
        (topics.INBOX, 0, b"\xff no"),
        (topics.INBOX, 1, b'{"ty'),
    ]
    assert kept[1].reason.startswith("unknown_type at /type: type 'fax' is not deployed")
    assert stage.counters.total(Count.INBOX, answer="refused") == 2
    assert stage.counters.total(Count.REFUSALS, reason="unknown_type") == 1
    assert stage.counters.total(Count.QUARANTINED, topic=topics.INBOX) == 2


def test_what_looks_like_a_parcel_of_a_newer_version_is_never_put_back(stage):
    take(stage, a_record(0, value=b'{"v":99,"tasks":[]}'))
    stage.run(recorder, topics.DLQ)
    assert [one.version for one in stage.ledger.quarantined.values()] == [None]


@pytest.mark.parametrize("value", [b"", b"null", b"[]", b'{"type":"echo","type":"echo"}'])
def test_what_is_no_request_is_refused(stage, value):
    assert take(stage, a_record(value=value)) == []
    assert len(refused(stage)) == 1


def test_a_tombstone_is_refused(stage):
    assert take(stage, replace(a_record(), value=None)) == []
    assert refused(stage) == [("0", "bad_request", "")]


@pytest.mark.parametrize(
    "headers",
    [
        {"idempotency-key": b"a", "Idempotency-Key": b"b"},
        {"idempotency-key": b""},
        {"idempotency-key": b"\xc3\xa9"},
    ],
    ids=["two", "empty", "not ASCII"],
)
def test_a_key_that_is_no_key_over_http_is_none_here(stage, headers):
    assert take(stage, a_record(headers=headers)) == []
    assert refused(stage) == [("0", "invalid_request", "/idempotency_key")]


def test_one_header_name_that_comes_twice_is_two_keys(stage):
    event = a_kafka_event([a_record()])
    (line,) = event["records"].values()
    line[0]["headers"] = [{"idempotency-key": [97]}, {"idempotency-key": [97]}]
    assert inbox(event, stage.context()) == {"batchItemFailures": []}
    assert refused(stage) == [("0", "invalid_request", "/idempotency_key")]


def test_a_delay_beyond_its_expiry_is_refused_unless_its_key_has_a_task(stage):
    first = a_record(0, idempotency_key="k", delay_seconds=60, expires_at="2026-11-06T21:25:00Z")
    late = NOW + 290_000
    again, new = (
        replace(first, at_ms=late),
        a_record(
            2, at_ms=late, idempotency_key="l", delay_seconds=60, expires_at="2026-11-06T21:25:00Z"
        ),
    )
    again = replace(again, position=a_position(1, topic=topics.INBOX))
    assert take(stage, first) == take(stage, again, new) == []
    assert refused(stage) == [("2", "invalid_request", "/expires_at")]
    assert stage.counters.total(Count.INBOX, answer="replayed") == 1


def test_while_redis_is_cold_nothing_is_decided_and_refusals_are_told_all_the_same(stage):
    stage.hot.forget()
    assert take(stage, a_record(0), a_record(1, type="fax")) == [0]
    assert refused(stage) == [("1", "unknown_type", "/type")]
    stage.hot.open()
    assert take(stage, a_record(0)) == []
    assert len(published(stage)) == 1
    assert stage.counters.total(Count.INBOX, answer="put_off") == 1


def test_while_the_log_is_away_everything_comes_again(stage):
    stage.log.is_away = True
    assert take(stage, a_record(0), a_record(1, type="fax")) == [0, 1]
    stage.log.is_away = False
    assert take(stage, a_record(0), a_record(1, type="fax")) == []
    assert len(published(stage)) == len(refused(stage)) == 1


def test_a_payload_that_cannot_be_looked_for_comes_again_alone(stage):
    place = f"s3://taskmill/payloads/echo/default/{'0' * 64}"
    pointed = a_record(0, payload_ref={"url": place, "size": 1, "sha256": "0" * 64})
    stage.ports.blobs = Away()
    assert take(stage, pointed, a_record(1)) == [0]
    stage.ports.blobs = stage.blobs
    assert take(stage, pointed) == []
    assert refused(stage) == [("0", "payload_missing", "/payload_ref")]
