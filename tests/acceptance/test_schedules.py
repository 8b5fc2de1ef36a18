"""A running system fires schedules on time and reports the results."""

import json
from datetime import datetime

import psycopg
import pytest

from tests.waiting import eventually

PATIENCE = 60
LATE_AT_MOST = 10
EACH_SECOND = {"cron": "* * * * * *"}
_SPOIL = "UPDATE schedules SET definition = replace(definition::text, '0.01', '-1')::json"


@pytest.fixture
def schedule(client):
    """Return a function that creates schedules, which are deleted after the test."""
    made = []

    def make(name, payload, **fields):
        made.append(f"/v1/schedules/{name}")
        body = {"task": {"type": "echo", "payload": payload}, **EACH_SECOND, **fields}
        answer = client.ask("PUT", made[-1], json.dumps(body).encode())
        assert answer.status == 201, answer
        return made[-1]

    yield make
    for path in made:
        client.ask("DELETE", path)


def until(client, path, is_so, reason):
    eventually(lambda: is_so(client.get(path).body), within=PATIENCE, reason=reason)
    return client.get(path).body


def test_a_schedule_fires_each_second_until_it_is_paused(client, schedule):
    path = schedule("each-second", {"say": "again"})
    until(client, path, lambda one: one["fired"] >= 2, "it fires")
    result = client.post(f"{path}/pause", None).body
    task = client.task(result["last_task_id"], wait=20)
    assert task["status"] == "succeeded"
    assert task["idempotency_key"] == f"schedule:each-second:{result['last_at'][:19]}Z"
    nominal, began = (datetime.fromisoformat(at) for at in (result["last_at"], task["started_at"]))
    assert 0 <= (began - nominal).total_seconds() <= LATE_AT_MOST
    assert client.get(path).body == result


def test_a_task_is_fired_now_and_can_be_read_at_once(client, schedule):
    path = schedule("never", {"say": "now"}, cron="0 0 1 1 *")
    fired = client.post(f"{path}/trigger", None)
    assert fired.status == 202
    assert client.get(fired.headers["location"]).status == 200
    assert client.task(fired.body["task_id"], wait=20)["status"] == "succeeded"


def test_the_task_before_is_asked_to_end_when_the_next_one_begins(client, schedule):
    """It sleeps for longer than anybody waits here, and does not look whether it is to end."""
    path = schedule("restless", {"sleep_seconds": 15}, overlap="cancel_running")
    first = until(client, path, lambda one: one["fired"] >= 1, "it fires")["last_task_id"]
    until(client, path, lambda one: one["fired"] >= 2, "it fires again")
    result = client.post(f"{path}/pause", None).body
    asked = client.task(first)
    assert asked["status"] == "cancelled" or asked["cancel_requested"], asked
    client.post(f"/v1/tasks/{result['last_task_id']}/cancel", None)


def test_a_task_that_fits_its_type_no_more_is_refused_and_shown_so(client, schedule):
    path = schedule("misfit", {"sleep_seconds": 0.01}, cron="0 0 1 1 *")
    with psycopg.connect(client.platform()["stores"]["PostgreSQL"]["address"]) as ledger:
        ledger.execute(f"{_SPOIL} WHERE name = 'misfit'")
    client.post(f"{path}/trigger", None)
    result = until(client, path, lambda one: "last_refusal" in one, "the refusal is shown")
    assert result["last_refusal"]["type"] == "invalid_payload"
