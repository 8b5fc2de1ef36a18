"""Every recorded event is run by its function, so that no example becomes outdated."""

import json
from base64 import b64decode
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME

from functions.dispatcher.handler import lambda_handler as dispatcher
from functions.gateway.handler import lambda_handler as gateway
from functions.inbox.handler import lambda_handler as inbox
from functions.recorder.handler import lambda_handler as recorder
from functions.scheduler.handler import lambda_handler as scheduler
from functions.workers.echo.handler import lambda_handler as echo
from infra.check_template import expanded
from infra.rules.template import MAPPING
from taskmill import __version__
from taskmill.core import topics
from taskmill.core.facts import TaskDeferred, TaskDied
from taskmill.core.log import Position
from taskmill.core.owed import OwedKind
from taskmill.core.task import Status, TaskId, TaskType, keyed_id
from taskmill_local.front.event import event_of
from taskmill_local.front.head import parse_head
from taskmill_local.front.request import Request
from taskmill_local.front.routing import Router
from taskmill_local.mappings.event import Origin, assemble, encode
from taskmill_local.plan import RoutePlan
from tests.unit.stage import NOW, Stage, an_http_event

EVENTS = Path(__file__).parents[2] / "events"
ECHO = TaskType("echo")
TASK = [TaskId(f"019f{number:04x}-0000-7000-8000-{number:012d}") for number in range(6)]
ORDER_17 = keyed_id("default", ECHO, "order-17")
ALL_WELL: dict[str, list[Any]] = {"batchItemFailures": []}

Run = Callable[[Stage, dict[str, Any]], None]
RUNS: dict[str, Run] = {}


def recorded(name: str) -> Callable[[Run], Run]:
    """Return the name of the event that a run needs."""

    def register(run: Run) -> Run:
        RUNS[name] = run
        return run

    return register


def load(name: str) -> dict[str, Any]:
    return json.loads((EVENTS / f"{name}.json").read_text())


@pytest.mark.parametrize("name", sorted(path.stem for path in EVENTS.iterdir()))
def test_a_recorded_event_is_answered_as_its_run_says(name, monkeypatch):
    assert name in RUNS, f"write a run for events/{name}.json"
    stage = Stage()
    stage.bind(monkeypatch)
    RUNS[name](stage, load(name))


def test_every_run_has_its_event():
    assert {path.name for path in EVENTS.iterdir()} == {f"{name}.json" for name in RUNS}


def ask(stage: Stage, event: dict[str, Any]) -> tuple[int, Any]:
    answer = gateway(event, stage.context())
    assert answer["headers"]["X-Request-Id"] == event["requestContext"]["requestId"]
    assert answer["isBase64Encoded"] is False
    return answer["statusCode"], json.loads(answer["body"])


def submit(stage: Stage) -> dict[str, Any]:
    status, task = ask(stage, load("http_submit"))
    assert status == 202
    return task


@recorded("http_submit")
def http_submit_is_accepted_once(stage: Stage, event: dict[str, Any]) -> None:
    assert submit(stage)["id"] == ORDER_17
    assert ask(stage, event)[0] == 200
    (task,) = stage.log.tasks(topics.PENDING)
    assert (bytes(task.payload), task.metadata) == ('{"say":"grüß dich"}'.encode(), {"who": "me"})


@recorded("http_submit_base64")
def http_submit_base64_is_decoded(stage: Stage, event: dict[str, Any]) -> None:
    assert ask(stage, event)[0] == 202
    (task,) = stage.log.tasks(topics.PENDING)
    assert bytes(task.payload) == '{"say":"grüß dich"}'.encode()


@recorded("http_batch")
def http_batch_is_answered_item_by_item(stage: Stage, event: dict[str, Any]) -> None:
    status, reply = ask(stage, event)
    assert (status, reply["accepted"], reply["refused"]) == (200, 1, 2)
    assert [one["status"] for one in reply["results"]] == [202, 422, 422]
    assert [one["error"]["field"] for one in reply["results"][1:]] == [
        "/type",
        "/payload/sleep_seconds",
    ]


@recorded("http_read")
def http_read_waits_and_shows_the_payload(stage: Stage, event: dict[str, Any]) -> None:
    task = submit(stage)
    stage.record()
    status, reply = ask(stage, event)
    assert (status, reply) == (200, task | {"payload": {"say": "grüß dich"}})
    assert stage.clock() - NOW >= 2_500


@recorded("http_list")
def http_list_shows_what_fits_its_filter(stage: Stage, event: dict[str, Any]) -> None:
    older = submit(stage)
    other = {"type": "echo", "metadata": {"who": "me"}}
    stage.pass_time(milliseconds=1)
    body = json.dumps(other)
    headers = {"Content-Type": "application/json"}
    _, newer = ask(stage, an_http_event("POST", "/v1/tasks", headers=headers, body=body))
    stage.record()
    status, page = ask(stage, event)
    assert (status, page["tasks"]) == (200, [newer])
    event["queryStringParameters"]["cursor"] = page["next_cursor"]
    _, rest = ask(stage, event)
    assert (rest["tasks"], rest["next_cursor"]) == ([older], None)


@recorded("http_types")
def http_types_names_what_is_deployed(stage: Stage, event: dict[str, Any]) -> None:
    status, reply = ask(stage, event)
    assert status == 200
    assert "echo" in [one["name"] for one in reply["types"]]


@recorded("http_stats")
def http_stats_tells_what_waits_and_where(stage: Stage, event: dict[str, Any]) -> None:
    submit(stage)
    stage.record()
    stage.pass_time(milliseconds=1500)
    status, reply = ask(stage, event)
    assert (status, reply["is_complete"], reply["in_flight"]) == (200, True, 0)
    none = dict.fromkeys(("submitted", "succeeded", "retried", "died", "cancelled", "lost"), 0)
    assert reply["types"] == {
        "echo": {
            "depth": {"queued": 1},
            "priorities": {"normal": {"queued": 1}},
            "in_line": 1,
            "oldest_wait_seconds": 1.5,
            "now": {
                "lane": "live",
                "waiting": dict.fromkeys(("critical", "high", "normal", "low", "alone"), 0),
                "shelved": dict.fromkeys(("critical", "high", "normal", "low"), 0),
                "in_flight": 0,
                "oldest_wait_seconds": None,
                "pauses": [],
                "worker": {"state": "idle", "taken_at": None},
            },
            "last_minute": none | {"submitted": 1},
        }
    }
    assert (reply["last_minute"]["submitted"], reply["last_minute"]["succeeded"]) == (1, 0)
    assert reply["lag"]["dispatcher"] == 1
    stage.ledger.is_away = True
    stage.pass_time(milliseconds=5000)
    status, reply = ask(stage, event)
    assert (status, reply["detail"][:11], "PostgreSQL" in reply["detail"]) == (
        503,
        "statistics ",
        True,
    )


@recorded("http_health")
def http_health_is_ok(stage: Stage, event: dict[str, Any]) -> None:
    assert ask(stage, event) == (200, {"status": "ok", "version": __version__})


@recorded("http_ready")
def http_ready_asks_the_stores(stage: Stage, event: dict[str, Any]) -> None:
    assert ask(stage, event) == (200, {"status": "ready"})
    stage.log.is_away = True
    assert ask(stage, event)[0] == 503


@pytest.mark.parametrize("name", sorted(path.stem for path in EVENTS.glob("http_*")))
def test_the_local_platform_writes_http_events_of_the_recorded_shape(name):
    event = load(name)
    body = event.get("body", "").encode()
    body = b64decode(body) if event["isBase64Encoded"] else body
    method, path = event["routeKey"].split(" ")
    target = f"{event['rawPath']}?{event['rawQueryString']}".rstrip("?")
    lines = [f"{method} {target} HTTP/1.1", *map(": ".join, event["headers"].items())]
    request = Request(
        head=parse_head("\r\n".join(lines).encode()),
        body=body,
        source_ip="203.0.113.7",
        arrived_at=datetime(2026, 11, 6, 21, 20, tzinfo=UTC),
    )
    router = Router([RoutePlan(method=method, path=path, function="Gateway")])
    match = router.match(method, event["rawPath"])
    assert match is not None
    assert _common(json.loads(event_of(request, match, port=443))) == _common(event)


def _common(event: dict[str, Any]) -> dict[str, Any]:
    """Return an event without the parts that differ in each place."""
    context = {
        name: value if name in {"http", "routeKey", "stage", "time", "timeEpoch"} else type(value)
        for name, value in event["requestContext"].items()
    }
    headers = {
        name: value
        for name, value in event["headers"].items()
        if not name.startswith("x-forwarded-")
    }
    is_text = not event["isBase64Encoded"]
    text = event.get("body") if is_text else b64decode(event["body"]).decode()
    same = {"requestContext": context, "headers": headers, "body": text}
    return event | same | {"isBase64Encoded": None}


@pytest.mark.parametrize("name", sorted(path.stem for path in EVENTS.glob("kafka_*")))
def test_the_local_platform_writes_kafka_events_of_the_recorded_shape(name):
    event = load(name)
    lines = {
        place: [encode(Fetched(one)) for one in line] for place, line in event["records"].items()
    }
    origin = Origin(event["bootstrapServers"], event.get("eventSourceArn"))
    written = json.loads(assemble(origin, lines))
    for line in event["records"].values():
        for one in line:
            if one.get("value", "") is None:
                del one["value"]  # seen on the platform in both forms: null, and left out
    assert written == event


def test_recorded_kafka_events_are_of_the_kind_that_the_mappings_of_the_template_send():
    """But one, of a Kafka that is not managed: a function takes both."""
    managed = {
        topic: "EventSourceArn" in mapping
        for _, mapping in expanded().of(MAPPING)
        for topic in mapping["Topics"]
    }
    kinds = {name: load(name) for name in RUNS if name.startswith("kafka_")}
    assert {name for name, event in kinds.items() if "eventSourceArn" not in event} == {"kafka_odd"}
    for event in kinds.values():
        is_managed = event["eventSource"] == "aws:kafka"
        assert is_managed == ("eventSourceArn" in event)
        stamp = "LOG_APPEND_TIME" if is_managed else "CREATE_TIME"
        for one in (one for line in event["records"].values() for one in line):
            assert one["timestampType"] == stamp
            assert managed[one["topic"]] or not is_managed


class Fetched:
    """A recorded record, as the Kafka client delivers it."""

    def __init__(self, one: dict[str, Any]) -> None:
        self._one = one

    def topic(self) -> str:
        return self._one["topic"]

    def partition(self) -> int:
        return self._one["partition"]

    def offset(self) -> int:
        return self._one["offset"]

    def timestamp(self) -> tuple[int, int]:
        kinds = {"CREATE_TIME": TIMESTAMP_CREATE_TIME, "LOG_APPEND_TIME": TIMESTAMP_LOG_APPEND_TIME}
        return kinds[self._one["timestampType"]], self._one["timestamp"]

    def key(self) -> bytes | None:
        return _octets(self._one.get("key"))

    def value(self) -> bytes | None:
        return _octets(self._one.get("value"))

    def headers(self) -> list[tuple[str, bytes | None]]:
        return [
            (name, bytes(octet % 256 for octet in octets))
            for header in self._one["headers"]
            for name, octets in header.items()
        ]


def _octets(text: str | None) -> bytes | None:
    return None if text is None else b64decode(text)


@recorded("kafka_inbox")
def kafka_inbox_is_taken_or_told_why_not(stage: Stage, event: dict[str, Any]) -> None:
    for _ in range(2):  # a batch may come twice
        assert inbox(event, stage.context()) == ALL_WELL
    tasks = stage.log.tasks(topics.PENDING)
    assert len(tasks) == 2
    assert ORDER_17 in {task.id for task in tasks}
    reasons = {_source(one.headers).offset: one.headers for one in stage.log.records(topics.DLQ)}
    assert {offset: reply["reason"] for offset, reply in reasons.items()} == {
        9: b"idempotency_key_reused",
        10: b"invalid_payload",
    }
    assert reasons[10]["field"] == b"/payload/sleep_seconds"


@recorded("kafka_pending")
def kafka_pending_is_put_in_line(stage: Stage, event: dict[str, Any]) -> None:
    assert dispatcher(event, stage.context()) == ALL_WELL
    in_line = {task.id for task in stage.waiting()}
    assert in_line == {TASK[1], TASK[2], TASK[4]}
    ((name, _),) = stage.hot.due.items()
    assert (name.id, name.kind) == (TASK[3], OwedKind.PARKED)
    assert recorder(event, stage.context()) == ALL_WELL
    assert set(stage.ledger.rows) == set(TASK[1:5])


@recorded("kafka_pending_deferred")
def kafka_pending_deferred_is_admitted_once(stage: Stage, event: dict[str, Any]) -> None:
    assert dispatcher(event, stage.context()) == ALL_WELL
    assert {task.id for task in stage.waiting()} == {ORDER_17, TASK[5]}
    reply = [type(fact).__name__ for fact in stage.log.facts()]
    assert sorted(reply) == [
        "SubmissionDropped",
        "SubmissionDropped",
        "TaskAdmitted",
        "TaskAdmitted",
    ]
    stage.hot.forget()
    again = dispatcher(event, stage.context())["batchItemFailures"]
    assert again == [
        {"itemIdentifier": {"partition": "tasks.pending-2", "offset": 10}},
        {"itemIdentifier": {"partition": "tasks.pending-2", "offset": 11}},
        {"itemIdentifier": {"partition": "tasks.pending-3", "offset": 4}},
    ]


@recorded("kafka_work")
def kafka_work_is_done(stage: Stage, event: dict[str, Any]) -> None:
    assert echo(event, stage.context()) == ALL_WELL
    stage.record()
    assert {fact.id: _end(fact) for fact in stage.log.facts()} == {
        TASK[1]: b'{"say":"hello"}',
        TASK[2]: ("failed", "Retry"),
        TASK[3]: ("invalid_payload", "Misfit"),
        TASK[4]: ("failed", "RuntimeError"),
    }


def _end(fact: Any) -> Any:
    if isinstance(fact, TaskDied | TaskDeferred):
        return fact.reason, fact.error_class
    return bytes(fact.result)


@recorded("kafka_events")
def kafka_events_are_written_into_the_ledger(stage: Stage, event: dict[str, Any]) -> None:
    for _ in range(2):  # a batch may come twice
        assert recorder(event, stage.context()) == ALL_WELL
    assert {row.id: row.status for row in stage.ledger.rows.values()} == {
        TASK[1]: Status.SUCCEEDED,
        TASK[2]: Status.DEAD,
        TASK[3]: Status.QUEUED,
    }
    assert stage.ledger.applied() == {("tasks.events", 0): 57, ("tasks.events", 4): 10}
    assert len(stage.ledger.history) == 7


@recorded("kafka_dlq")
def kafka_dlq_goes_into_quarantine_under_its_source(stage: Stage, event: dict[str, Any]) -> None:
    assert recorder(event, stage.context()) == ALL_WELL
    lost = {(one.topic, one.partition, one.offset): one for one in quarantine(stage)}
    assert set(lost) == {("tasks.pending", 5, 7), ("tasks.dlq", 0, 4), ("tasks.dlq", 0, 5)}
    first = lost["tasks.pending", 5, 7]
    assert first.value == b"\x00\xff not a parcel"
    assert first.reason == "the record is not a parcel: “?” is no JSON"


def quarantine(stage: Stage) -> list[Any]:
    return list(stage.ledger.quarantined.values())


@recorded("kafka_odd")
def kafka_odd_loses_nothing_and_stops_nothing(stage: Stage, event: dict[str, Any]) -> None:
    assert dispatcher(event, stage.context()) == ALL_WELL
    assert {task.id for task in stage.waiting()} == {TASK[1], TASK[2]}
    odd = stage.log.records(topics.DLQ)
    given = {
        Position(one["topic"], one["partition"], one["offset"]): b64decode(one.get("value") or "")
        for line in event["records"].values()
        for one in line
    }
    places = {_source(one.headers): one.value for one in odd}
    assert places == {at: given[at] for at in places}
    assert len(odd) == len(given) - 2
    assert all(one.headers["reason"] for one in odd)
    stage.run(recorder, topics.DLQ)
    assert {Position(one.topic, one.partition, one.offset) for one in quarantine(stage)} == set(
        places
    )


def _source(headers: Any) -> Position:
    return Position(headers["topic"].decode(), int(headers["partition"]), int(headers["offset"]))


@recorded("rule_minute")
def rule_minute_keeps_a_scheduler_running(stage: Stage, event: dict[str, Any]) -> None:
    assert scheduler(event, stage.context())["publish_due"] == 0
    assert stage.clock() > NOW
