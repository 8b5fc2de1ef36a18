"""Operators cancel tasks, redrive them, inspect histories and clean up."""

from uuid import uuid4

import pytest
from confluent_kafka import Producer

from taskmill_local.cli import main
from tests.waiting import eventually

PATIENCE = 20
LONG = 60
TWO_LIVES = ("submitted", "died", "submitted", "died")
LATER = {"first_seconds": 600, "factor": 2, "cap_seconds": 600}


def died(client, **fields):
    """Submit a task that dies, and wait until it is listed among the dead."""
    task = client.submit({"discard": "never"}, **fields)
    assert client.task(task["id"], wait=PATIENCE)["status"] == "dead"
    listed(client, task["id"])
    return task


def listed(client, task_id):
    def page():
        return client.get("/v1/tasks?status=dead&reason=discarded&limit=200").body["tasks"]

    eventually(
        lambda: any(task["id"] == task_id for task in page()),
        within=LONG,
        reason=f"{task_id} among the dead",
    )
    return next(task for task in page() if task["id"] == task_id)


def tell(client, task_id, *expected):
    """Wait until the history contains exactly these facts."""

    def kinds():
        answer = client.get(f"/v1/tasks/{task_id}/history")
        return [fact["kind"] for fact in answer.body.get("facts", ())]

    eventually(lambda: kinds() == list(expected), within=LONG, reason=f"a history: {expected}")


def test_a_task_that_waits_for_its_next_attempt_is_cancelled(client):
    task = client.submit({"retry": "not now"}, retry=LATER)
    eventually(
        lambda: client.task(task["id"])["status"] == "retrying",
        within=PATIENCE,
        reason="a task that waits",
    )
    result = client.post(f"/v1/tasks/{task['id']}/cancel", None)
    assert (result.status, result.body["status"]) == (200, "cancelled")
    assert client.task(task["id"])["status"] == "cancelled"
    again = client.post(f"/v1/tasks/{task['id']}/cancel", None)
    assert (again.status, again.body) == (200, result.body)
    tell(client, task["id"], "submitted", "deferred", "cancelled")


def test_a_running_task_is_asked_to_end_and_what_has_ended_is_not(client):
    task = client.submit({"sleep_seconds": 4, "retry": "not yet"}, retry=LATER)["id"]
    eventually(lambda: client.task(task)["status"] == "running", within=PATIENCE, reason="it runs")
    result = [client.post(f"/v1/tasks/{task}/cancel", None) for _ in range(2)]
    assert [(one.status, one.body["cancel_requested"]) for one in result] == [(202, True)] * 2
    assert client.task(task, wait=PATIENCE)["status"] == "cancelled"
    ended = client.submit({"say": "done"})["id"]
    assert client.task(ended, wait=PATIENCE)["status"] == "succeeded"
    result = [client.post(f"/v1/tasks/{ended}/cancel", None) for _ in range(2)]
    assert [(one.status, one.body["type"]) for one in result] == [(409, "already_finished")] * 2


def test_a_dead_task_is_listed_redriven_and_dies_in_its_next_life(client):
    task = died(client)
    letter = listed(client, task["id"])
    assert letter["error"] == {"class": "Discard", "message": "never"}
    assert letter["first_failed_at"] == letter["last_failed_at"] == letter["finished_at"]
    result = client.post(f"/v1/tasks/{task['id']}/redrive", None)
    assert result.status == 202
    assert result.body["generation"] > task["generation"]

    def has_died_again():
        now = client.task(task["id"], wait=1)
        return (now["status"], now["generation"]) == ("dead", result.body["generation"])

    eventually(has_died_again, within=PATIENCE, reason="the end of the next life")
    tell(client, task["id"], *TWO_LIVES)


def test_a_job_brings_the_dead_back(client):
    mark = f"job-{uuid4().hex}"
    task = died(client, metadata={"mark": mark})
    made = client.post("/v1/redrives", {"reason": "discarded", "type": "echo"})
    assert made.status == 202
    assert made.body["total"] >= 1
    path = f"/v1/redrives/{made.body['id']}"
    eventually(
        lambda: client.get(path).body["state"] != "running",
        within=LONG,
        reason="a job that is done, or paused since all died again",
    )
    assert client.get(path).body["failed"] >= 1
    tell(client, task["id"], *TWO_LIVES)


def test_the_command_shows_the_dead_and_what_happened_to_them(client, monkeypatch, capsys):
    monkeypatch.setenv("TASKMILL_URL", client.url)
    task = died(client)

    def run(*words):
        assert main(list(words)) == 0
        return capsys.readouterr().out

    assert task["id"] in run("dead", "--reason", "discarded", "--limit", "200")
    assert "Discard" not in run("dead", "--reason", "poison", "--json")
    assert "queued" in run("redrive", task["id"])
    tell(client, task["id"], *TWO_LIVES)
    result = run("history", task["id"])
    assert "submitted" in result
    assert "discarded: never" in result
    assert '"redrives"' in run("redrives", "--json")
    assert main(["cancel", task["id"]]) == 2
    assert "already_finished" in capsys.readouterr().err
    assert main(["redrives", "stop"]) == 2


def test_a_record_that_was_never_a_task_is_shown_and_discarded(client, monkeypatch, capsys):
    monkeypatch.setenv("TASKMILL_URL", client.url)
    producer = Producer({"bootstrap.servers": client.platform()["stores"]["Kafka"]["address"]})
    word = uuid4().hex.encode()
    value = b"never a task " + word

    def stand_there(report, message):
        assert report is None, report
        place.append(f"tasks.pending:{message.partition()}:{message.offset()}:0")

    place = []
    producer.produce("tasks.pending", value, partition=0, on_delivery=stand_there)
    producer.flush(PATIENCE)
    (name,) = place

    def is_there():
        records = client.get("/v1/quarantine?limit=200").body["records"]
        return name in [one["id"] for one in records]

    eventually(is_there, within=LONG, reason="a record in quarantine")
    assert main(["quarantine", name]) == 0
    assert f"never a task {word.decode()}" in capsys.readouterr().out
    assert main(["quarantine", "--discard", name]) == 0
    assert "anybody" in capsys.readouterr().out
    assert main(["quarantine", "--discarded", "--limit", "200"]) == 0
    assert name in capsys.readouterr().out


@pytest.mark.parametrize("verb", ["cancel", "redrive"])
def test_nobody_is_neither_cancelled_nor_redriven(client, verb):
    result = client.post(f"/v1/tasks/019f0000-0000-7000-8000-000000000001/{verb}", None)
    assert result.status in {404, 503}
