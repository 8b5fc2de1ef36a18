"""Secrets in user data appear only in responses about their own task."""

import json
import re
from base64 import b64decode, b64encode
from contextlib import closing, suppress
from itertools import count
from operator import methodcaller
from uuid import uuid4

import psycopg
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from msgspec import Raw

from taskmill.core import codec, topics
from tests.acceptance.ledger import outdate_a_schedule, quarantined
from tests.acceptance.raw import JSON, a_request, ask
from tests.builders import a_fresh_envelope
from tests.waiting import eventually

PATIENCE = 25
LONG = 60
LATER = {"first_seconds": 600, "factor": 2, "cap_seconds": 600}
LISTS = (
    "/v1/tasks?limit=200",
    "/v1/tasks?status=dead&limit=200",
    "/v1/tasks?status=cancelled&limit=200",
    "/v1/quarantine?limit=200",
    "/v1/quarantine?discarded=true&limit=200",
    "/v1/enqueued?state=parked&limit=200",
    "/v1/enqueued?state=waiting&limit=200",
    "/v1/schedules?limit=200",
    "/v1/redrives",
    "/v1/endpoints/disabled",
    "/v1/stats",
    "/v1/types",
    "/platform",
)
TOPICS = (topics.PENDING, topics.EVENTS, topics.WORKER_PREFIX + "echo")
ENQUEUE = "SELECT taskmill.enqueue(%s, %s::json, idempotency_key => %s)"
WAYS = (
    "password={}",
    "Authorization: Bearer {}",
    "{{'api_key': '{}'}}",
    "postgresql://app:{}@db.example/ledger",
    "GET /?token={}&x=1 failed",
)
"""How libraries say secrets when they fail."""


ENCODED = re.compile(r"[A-Za-z0-9+/_-]{20,}")


class Plants:
    """Markers in place of secrets; each is used in one place only."""

    def __init__(self):
        self._run = uuid4().hex[:12]
        self._numbers = count(1)
        self.where = {}

    def new(self, where):
        word = f"canary{self._run}x{next(self._numbers):03}"
        self.where[word] = where
        return word

    def seen_in(self, text):
        """Return the markers in a text, including those in base64."""
        shown = "\n".join([text, *decoded(text)])
        return {self.where[word] for word in self.where if word in shown}


def decoded(text):
    """Decode each run of base64 from each of the four possible offsets."""
    for run in ENCODED.findall(text):
        for skipped in range(4):
            part = run[skipped:].replace("-", "+").replace("_", "/")
            yield b64decode(part + "A" * (-len(part) % 4)).decode("latin-1")


@pytest.fixture
def plants():
    return Plants()


def ended(client, answer):
    assert answer.status in {200, 202}, answer
    return client.task(answer.body["id"], wait=PATIENCE)


def submitted(client, payload, *headers, **fields):
    body = json.dumps({"type": "echo", "payload": payload} | fields).encode()
    return ask(client, a_request("POST", "/v1/tasks", body, JSON + headers))


def said(plants, where):
    """Return an error text with a secret in each supported form."""
    return "; ".join(way.format(plants.new(f"{where}: {way}")) for way in WAYS)


def live_through(client, plants):
    """Let tasks with secrets succeed, fail, wait, be cancelled, die and be redriven."""
    new = plants.new
    headers = (
        ("Authorization", f"Bearer {new('the header Authorization')}"),
        ("Cookie", f"session={new('a cookie')}"),
        ("X-Api-Key", new("the header X-Api-Key")),
        ("X-Whatever", new("any header")),
        ("Idempotency-Key", f"token={new('a key that looks like a secret')}"),
    )
    payload = {"say": {"card": new("the payload of a success"), new("the payload's names"): 1}}
    result = ended(client, submitted(client, payload, *headers))
    assert (result["status"], result["result"]) == ("succeeded", payload), "its own task shows it"

    tried = {"say": new("the payload of a retry"), "retry": said(plants, "a retry")}
    again = submitted(client, tried | {"for_attempts": 1}, retry={"first_seconds": 0})
    assert ended(client, again)["attempt"] == 2

    for way in ("retry", "discard", "crash"):
        ill = {"say": new(f"the payload of a {way}"), way: said(plants, way)}
        died = ended(client, submitted(client, ill, max_attempts=1))
        assert died["status"] == "dead"
        assert plants.seen_in(json.dumps(died)) == set(), "texts of errors are kept without them"
        redriven = client.post(f"/v1/tasks/{died['id']}/redrive", None)
        assert redriven.status in {202, 503}, redriven

    waits = {"say": new("the payload of a cancelled task"), "retry": said(plants, "a wait")}
    task = submitted(client, waits, retry=LATER).body["id"]
    eventually(
        lambda: client.task(task)["status"] == "retrying", within=LONG, reason="a task that waits"
    )
    assert client.post(f"/v1/tasks/{task}/cancel", None).body["status"] == "cancelled"

    long = {"say": new("the payload of a result that is none"), "answer_bytes": 21_000_000}
    assert ended(client, submitted(client, long))["reason"] == "result_invalid"

    hook = {
        "url": f"https://a.example/?token={new('the query of a webhook')}",
        "secret": "nobodys",
        "headers": {"Authorization": f"Bearer {new('the header of a webhook')}"},
        "body": {"pin": new("the body of a webhook")},
    }
    assert ended(client, submitted(client, hook, type="webhook"))["status"] == "dead"
    mail = {
        "to": ["a@b.example"],
        "subject": new("the subject of a mail"),
        "text": new("the text of a mail"),
        "headers": {"X-Pin": new("the header of a mail")},
    }
    assert ended(client, submitted(client, mail, type="email"))["status"] == "succeeded"


def be_refused(client, plants):
    """Send requests that are refused, each with a secret."""
    new = plants.new
    refused = [
        submitted(client, {"more": new("a payload that does not fit")}),
        submitted(client, {}, **{new("a field that nobody knows"): 1}),
        submitted(client, {}, type=new("a type that nobody takes")),
        submitted(client, {}, ("Idempotency-Key", f"a,{new('two keys')}")),
        submitted(client, {"say": new("too long a payload") + "x" * 300_000}),
        ask(client, a_request("POST", "/v1/tasks", b'{"p": "%b' % new("no JSON").encode())),
        ask(client, a_request("POST", "/v1/tasks", new("no type").encode(), ())),
        ask(client, a_request("GET", f"/v1/{new('a path')}", headers=())),
        ask(client, a_request("GET", f"/v1/tasks/{new('an id')}", headers=())),
        ask(client, a_request("GET", f"/v1/tasks?api_key={new('a query')}", headers=())),
        ask(client, a_request("GET", f"/v1/tasks?cursor={new('a cursor')}", headers=())),
        ask(client, a_request("BREW", "/", headers=(("Authorization", new("no route")),))),
        ask(client, a_request("GET", "/", headers=(("X", f"\0{new('no HTTP')}"),))),
        client.post("/v1/redrives", {"type": new("a job of a type"), "more": 1}),
        client.post("/v1/endpoints/enable", {"url": f"https://u:{new('no endpoint')}@a.example/"}),
    ]
    assert {answer.status for answer in refused} <= {400, 404, 413, 415, 422}


def come_by_kafka(stack, client, plants):
    """Write requests to the inbox: one that is accepted, and others that are refused."""
    new, key = plants.new, f"token={plants.new('a key that came by Kafka')}"
    requests = [
        ({"type": "echo", "payload": {"say": new("a payload by Kafka")}}, key),
        ({"type": "echo", "payload": {"say": new("another payload under its key")}}, key),
        (
            {"type": "echo", "payload": {"say": new("a bad field beside it")}, "max_attempts": 0},
            "a",
        ),
        ({"type": "echo", "payload": {"sleep_seconds": new("what does not fit")}}, "b"),
        ({"type": "nobody", "payload": {"say": new("a payload that nobody takes")}}, "c"),
        ({"type": "echo", "metadata": {"pin": [new("metadata that cannot be")]}}, "d"),
    ]
    values = [(json.dumps(body).encode(), key) for body, key in requests]
    values.append((b'{"p": "%b' % new("no JSON by Kafka").encode(), "e"))
    before = len(quarantined(stack, topics.INBOX))
    producer = Producer({"bootstrap.servers": client.platform()["stores"]["Kafka"]["address"]})
    for value, key in values:
        pinned = ("Authorization", new("a header by Kafka").encode())
        headers = [("idempotency-key", key.encode()), pinned]
        producer.produce(topics.INBOX, value, partition=0, headers=headers)
    assert producer.flush(PATIENCE) == 0
    refused = len(values) - 1
    eventually(
        lambda: len(quarantined(stack, topics.INBOX)) >= before + refused,
        within=LONG,
        reason="what was refused is in quarantine",
    )


def be_enqueued(stack, client, plants):
    """Request tasks in SQL and by schedules; some are refused after the commit."""
    new = plants.new
    address = client.platform()["stores"]["PostgreSQL"]["address"]
    calls = [
        ("echo", {"say": new("a payload in SQL")}, "a"),
        ("echo", {"sleep_seconds": new("what does not fit, in SQL")}, "b"),
        ("nobody", {"say": new("a payload in SQL that nobody takes")}, "c"),
        ("echo", {"say": new("a payload in SQL under a used key")}, "a"),
    ]
    keys = {key: f"token={new('a key in SQL')}" for key in "abc"}

    def parked():
        return client.get("/v1/enqueued?limit=200").body["requests"]

    before = {one["task_id"] for one in parked()}
    with closing(psycopg.connect(address, user="taskmill_enqueue", autocommit=True)) as caller:
        for name, payload, key in calls:
            caller.execute(ENQUEUE, (name, json.dumps(payload), keys[key]))
        with pytest.raises(psycopg.Error):
            caller.execute(ENQUEUE, ("echo", json.dumps({"say": new("an error of SQL")}), ""))
    task = {"type": "echo", "payload": {"say": new("the payload of a schedule")}}
    schedule = {"name": "secrets", "task": task, "cron": "0 0 1 1 *"}
    assert client.post("/v1/schedules", schedule).status == 201
    assert client.post("/v1/schedules/secrets/trigger", None).status == 202
    outdated = {"type": "echo", "payload": {"sleep_seconds": new("a schedule's misfit")}}
    outdate_a_schedule(stack, "outdated-secrets", outdated)
    assert client.post("/v1/schedules/outdated-secrets/trigger", None).status in {202, 422}
    for refused in (
        {"name": "no", "task": task | {"more": new("a schedule's task")}, "cron": "* * * * *"},
        {"name": "no", "task": task, "cron": new("a calendar")},
        {"name": "no", "task": task, "cron": "* * * * *", "timezone": new("a zone")},
    ):
        assert client.post("/v1/schedules", refused).status == 422
    eventually(
        lambda: len({one["task_id"] for one in parked()} - before) >= 2,
        within=LONG,
        reason="what was refused is parked",
    )


def be_odd(stack, client, plants):
    """Write records with secrets that are not tasks, or that the ledger cannot store."""
    new = plants.new
    before = len(plants.where)
    unheld = [
        a_fresh_envelope(payload=Raw(b'{"pin":"%b"}' % new("what is unheld").encode()), turn=0),
        a_fresh_envelope(metadata={"pin": f"\0{new('metadata that cannot be')}"}),
        a_fresh_envelope(payload=Raw(b'{"say":"\\ud800%b"}' % new("half a pair").encode())),
    ]
    values = [
        b'{"v":1,"tasks":[{"pin":"%b"' % new("a record that breaks off").encode(),
        b"\xff" + new("a record of bytes").encode(),
        b'{"v":2,"tasks":["%b"]}' % new("a record of tomorrow").encode(),
        b'{"v":1,"facts":[{"kind":"TaskDied","reason":"%b"}]}' % new("half a fact").encode(),
        *(next(codec.batches_of_tasks([one])) for one in unheld),
    ]
    words = list(plants.where)[before:]
    producer = Producer({"bootstrap.servers": client.platform()["stores"]["Kafka"]["address"]})
    for value in values:
        for topic in TOPICS:
            headers = [("Authorization", new("the header of a record").encode())]
            producer.produce(topic, value, headers=headers)
    assert producer.flush(PATIENCE) == 0

    def are_kept(topic):
        kept = b"".join(value for value, _ in quarantined(stack, topic))
        return all(word.encode() in kept for word in words)

    for topic in (topics.PENDING, topics.EVENTS):
        eventually(
            lambda topic=topic: are_kept(topic), within=LONG, reason=f"all of {topic} in quarantine"
        )


def test_a_secret_shows_up_nowhere_but_where_its_own_task_is_told(stack, client, plants):
    live_through(client, plants)
    be_refused(client, plants)
    come_by_kafka(stack, client, plants)
    be_enqueued(stack, client, plants)
    be_odd(stack, client, plants)
    eventually(lambda: client.platform()["lag"] == 0, within=LONG, reason="the ledger has it all")

    for log in logs_of(stack):
        assert plants.seen_in(log.read_text("utf-8", "replace")) == set(), log.name
    for path in LISTS:
        answer = client.get(path)
        assert answer.status == 200, path
        assert plants.seen_in(of_others(answer)) == set(), path
    assert plants.seen_in(client.get("/metrics").text) == set()
    assert plants.seen_in("\n".join(headers_of_the_dead(client))) == set()


def test_what_is_in_base64_is_seen(plants):
    word = plants.new("base64").encode()
    for before in range(4):
        assert plants.seen_in(b64encode(b"x" * before + word).decode()) == {"base64"}
    assert plants.seen_in(f"{'x' * 7}/{b64encode(word).decode()}") == {"base64"}


def logs_of(stack):
    logs = list((stack.folder / "home" / "logs").iterdir())
    assert {"Gateway.log", "EchoWorker.log", "Recorder.log", "postgresql.log"} <= {
        log.name for log in logs
    }
    return [*logs, stack.output, stack.complaints]


def of_others(answer):
    """Return a response without the result, which every task shows."""
    body = answer.body
    if isinstance(tasks := body.get("tasks"), list):
        for task in tasks:
            task.pop("result", None)
    return json.dumps(body)


def headers_of(record):
    """Return the headers; a plain call would lose half of them if a name is not UTF-8."""
    with suppress(SystemError, UnicodeDecodeError):
        return methodcaller("headers")(record)
    return ()


def headers_of_the_dead(client):
    """Return our headers on `tasks.dlq` as text; one of them contains the original ones."""
    consumer = Consumer(
        {
            "bootstrap.servers": client.platform()["stores"]["Kafka"]["address"],
            "group.id": "nobody",
            "enable.auto.commit": False,
        }
    )
    try:
        begin, end = consumer.get_watermark_offsets(TopicPartition(topics.DLQ, 0), PATIENCE)
        consumer.assign([TopicPartition(topics.DLQ, 0, begin)])
        at = begin
        while at < end:
            record = consumer.poll(PATIENCE)
            assert record is not None
            assert record.error() is None
            at = record.offset() + 1
            for name, octets in headers_of(record) or ():
                if name != "headers":
                    yield f"{name}: {octets.decode('utf-8', 'replace')}"
    finally:
        consumer.close()
