"""Sends the examples of the API description to a running system, in their order."""

import json
import re
from base64 import b64decode
from datetime import UTC, datetime
from urllib.parse import quote, urlencode
from uuid import uuid4

import psycopg
from confluent_kafka import Producer

from functions.gateway.description.control import PUT_OFF_ID, RUNNING_ID, WAITING_ID
from functions.gateway.description.endpoints import URL
from functions.gateway.description.enqueued import REFUSED_ID
from functions.gateway.description.examples import DEAD_ID, ID, KEY, SINCE
from functions.gateway.description.quarantine import RECORD
from functions.gateway.description.redrives import JOB_ID
from functions.gateway.description.schedules import OTHER, SCHEDULE
from taskmill.core.topics import PENDING
from taskmill.stores.redis.egress import RedisEndpoints
from taskmill.stores.redis.session import Session
from tests.unit.gateway import described
from tests.waiting import eventually

PATIENCE = 60
MORE_DEAD = 3
"""So many that a job lives for half a minute, one every ten seconds."""

NO_TASK = b"no task"
_WORDS = {
    "<link>": re.compile(r"https?://[^/]+/\S+\?X-Amz-\S+"),
    "<id>": re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    "<reading>": re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?!\.)"),
    "<moment>": re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"),
    "<state of a worker>": re.compile("^(takes|busy|idle|absent)$"),
}
# Their keys are names of types, statuses, priorities or readers: as many as there are.
_MAPS = {"types", "depth", "lag"}
_MAPS_OF_MAPS = {"priorities"}


def all_examples():
    """Return the route, the name and the status of every example, in document order."""
    return [
        (route, name, int(status))
        for route, operation in described.operations().items()
        for status, response in operation["responses"].items()
        for content in response.get("content", {}).values()
        for name in content.get("examples", ())
    ]


class Play:
    """Replaces the names in examples with real ones, and real ones with those of the examples."""

    def __init__(self, client):
        self._client = client
        since = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self._cast = {KEY: f"key {uuid4()}", SINCE: since}
        self._cast |= {name: f"{name}-{uuid4().hex}" for name in (SCHEDULE, OTHER)}

    def prepare(self):
        client = self._client
        metadata = {"order": "17"}
        tasks = {
            ID: client.submit({"say": "hello"}, metadata=metadata),
            DEAD_ID: client.submit({"discard": "never"}, metadata=metadata),
            PUT_OFF_ID: client.submit({"say": "hello"}, metadata=metadata, delay_seconds=600),
            WAITING_ID: client.submit(
                {"retry": "not now"}, metadata=metadata, retry={"first_seconds": 600}
            ),
        }
        others = [client.submit({"discard": "never"}, metadata=metadata) for _ in range(MORE_DEAD)]
        self._cast |= {name: task["id"] for name, task in tasks.items()}
        for task in (tasks[ID], tasks[DEAD_ID], *others):
            self._await_listed(task["id"])
        self._await_status(self._cast[WAITING_ID], "retrying")
        self._cast[RECORD] = self._a_record()
        self._let_refuse()
        stores = client.platform()["stores"]
        RedisEndpoints(Session(stores["Valkey"]["address"])).disable(URL, at_ms=1)

    def send(self, route, name, operation):
        """Send an example, and return the response."""
        if name == "a-running-task":
            task = self._client.submit({"sleep_seconds": 9}, metadata={"order": "17"})
            self._cast[RUNNING_ID] = task["id"]
            self._await_status(task["id"], "running")
        method, path = route.split(" ")
        path, query, headers = self._placed(path, operation.get("parameters", ()), name)
        body = operation.get("requestBody", {"content": {}})["content"]
        given = [one["examples"][name]["value"] for one in body.values()]
        text = self._real(json.dumps(given[0])).encode() if given else None
        answer = self._client.ask(method, path + query, text, **headers)
        self._follow(route, answer)
        return answer

    def answer_as_in_the_document(self, answer):
        text = answer.text
        for name, real in self._cast.items():
            text = text.replace(real, name)
        return json.loads(text)

    def close(self):
        """Delete schedules and the pause, and stop jobs that would redrive other tests' tasks."""
        self._client.ask("DELETE", "/v1/pauses/type:echo")
        self._client.ask("DELETE", f"/v1/schedules/{self._cast[SCHEDULE]}")
        if JOB_ID in self._cast:
            self._client.post(f"/v1/redrives/{self._cast[JOB_ID]}/stop", None)

    def _placed(self, path, parameters, name):
        query, headers = {}, {}
        for one in parameters:
            if name not in one.get("examples", ()):
                continue
            value = self._real(str(one["examples"][name]["value"]))
            match one["in"]:
                case "path":
                    path = path.replace(f"{{{one['name']}}}", quote(value, safe=":"))
                case "query":
                    query[one["name"]] = value
                case "header":
                    headers[one["name"]] = value
        return path, f"?{urlencode(query)}" if query else "", headers

    def _real(self, text):
        for name, real in self._cast.items():
            text = text.replace(name, real)
        return text

    def _follow(self, route, answer):
        """Wait until the effect is visible to the next example."""
        if route == "POST /v1/tasks" and answer.status == 202:
            self._await_status(answer.body["id"], "succeeded")
        if route.endswith("/redrive"):
            self._await_death_again(answer.body["id"])
        if route == "POST /v1/redrives":
            self._cast[JOB_ID] = answer.body["id"]

    def _await_status(self, task_id, status):
        eventually(
            lambda: self._client.task(task_id)["status"] == status,
            within=PATIENCE,
            reason=f"{task_id} is {status}",
        )

    def _await_listed(self, task_id):
        self._await_in("/v1/tasks", lambda task: task["id"] == task_id and "finished_at" in task)

    def _await_death_again(self, task_id):
        def is_listed_again(task):
            now = self._client.task(task_id)
            return task["id"] == task_id and task["generation"] == now["generation"]

        self._await_in("/v1/tasks?status=dead", is_listed_again)

    def _await_in(self, path, is_found):
        eventually(
            lambda: any(map(is_found, self._client.get(path).body["tasks"])),
            within=PATIENCE,
            reason=f"a task in {path}",
        )

    def _let_refuse(self):
        """Commit an invalid request, which will be refused."""
        dsn = self._client.platform()["stores"]["PostgreSQL"]["address"]
        with psycopg.connect(dsn.replace("taskmill_app@", "taskmill_enqueue@")) as connection:
            row = connection.execute("SELECT taskmill.enqueue('echo', max_attempts => 0)::text")
            (self._cast[REFUSED_ID],) = row.fetchone()
        eventually(
            lambda: self._client.get("/v1/enqueued").body["requests"],
            within=PATIENCE,
            reason="a request is refused",
        )

    def _a_record(self):
        stores = self._client.platform()["stores"]
        producer = Producer({"bootstrap.servers": stores["Kafka"]["address"]})
        producer.produce(PENDING, NO_TASK)
        assert producer.flush(PATIENCE) == 0

        def found():
            records = self._client.get("/v1/quarantine").body["records"]
            return [one["id"] for one in records if self._value_of(one) == NO_TASK]

        eventually(found, within=PATIENCE, reason="a record in quarantine")
        return found()[0]

    def _value_of(self, record):
        return b64decode(self._client.get(f"/v1/quarantine/{record['id']}").body["value_base64"])


def alike(shown, answer):
    """Return whether *answer* matches the example, except for ids, times, numbers and nulls."""
    if shown is None or answer is None:
        return True
    if isinstance(shown, dict) and isinstance(answer, dict):
        return set(shown) == set(answer) and all(_alike_at(one, shown, answer) for one in shown)
    if isinstance(shown, list) and isinstance(answer, list):
        return all(any(alike(one, other) for other in answer) for one in shown)
    if isinstance(shown, str) and isinstance(answer, str):
        return _plain(shown) == _plain(answer)
    if isinstance(shown, bool) or isinstance(answer, bool):
        return shown is answer
    return isinstance(shown, int | float) and isinstance(answer, int | float)


def _alike_at(name, shown, answer):
    if name in _MAPS:
        return _are_alike(shown[name], answer[name], alike)
    if name in _MAPS_OF_MAPS:
        return _are_alike(
            shown[name], answer[name], lambda one, other: _are_alike(one, other, alike)
        )
    return name == "next_cursor" or alike(shown[name], answer[name])


def _are_alike(shown, answer, is_alike):
    """Return whether each value of a map is like one of the example, whatever their keys."""
    return all(any(is_alike(one, other) for one in shown.values()) for other in answer.values())


def _plain(text):
    for word, pattern in _WORDS.items():
        text = pattern.sub(word, text)
    return text
