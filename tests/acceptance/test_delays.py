"""A running system starts tasks at their time; far ones wait only in the ledger."""

import json
import time

from taskmill_local.cli import main
from tests.waiting import eventually

PATIENCE = 60
HOUR = 3600


def patch(client, task, **wanted):
    return client.ask("PATCH", f"/v1/tasks/{task['id']}", json.dumps(wanted).encode())


def test_a_delayed_task_begins_at_its_time(client):
    task = client.submit({"say": "later"}, delay_seconds=1.5)
    assert task["status"] == "scheduled"
    ended = client.task(task["id"], wait=20)
    assert ended["status"] == "succeeded"
    assert ended["started_at"] >= task["run_at"]


def test_a_task_is_put_off_called_back_and_cancelled(client):
    """Each change is repeated until the ledger has the previous one."""
    task = client.submit(
        {"say": "never"}, idempotency_key=f"far {time.time_ns()}", delay_seconds=HOUR
    )
    path = f"/v1/tasks/{task['id']}"

    def changed(**wanted):
        answers = []

        def is_answered():
            answers.append(patch(client, task, **wanted))
            return answers[-1].status != 503

        eventually(is_answered, within=PATIENCE, reason=f"{wanted} is answered")
        return answers[-1]

    answer = changed(delay_seconds=2 * HOUR, metadata={"order": "17"})
    assert (answer.status, answer.body["status"], answer.body["metadata"]) == (
        200,
        "scheduled",
        {"order": "17"},
    )
    near = changed(delay_seconds=60)
    assert (near.status, near.body["run_at"] < answer.body["run_at"]) == (200, True)
    assert client.task(task["id"])["metadata"] == {"order": "17"}
    assert client.post(f"{path}/cancel", None).body["status"] == "cancelled"
    assert changed(delay_seconds=1).status == 409


def test_a_task_that_stands_in_line_is_put_off_and_runs_then(client):
    task = client.submit({"sleep_seconds": 0}, delay_seconds=30)
    eventually(
        lambda: patch(client, task, delay_seconds=0.5).status == 200,
        within=PATIENCE,
        reason="it is put near",
    )
    ended = client.task(task["id"], wait=20)
    assert (ended["status"], ended["attempt"]) == ("succeeded", 1)


def test_the_command_puts_off(client, monkeypatch, capsys):
    monkeypatch.setenv("TASKMILL_URL", client.url)
    task = client.submit({"say": "never"}, delay_seconds=600)

    def run(*words):
        assert main([*words, task["id"], "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    later = run("change", "--delay", "700", "--meta", "order=17")
    assert later["run_at"] > task["run_at"]
    assert later["metadata"] == {"order": "17"}
    assert (later["priority"], task["priority"]) == ("normal", "normal")
    urgent = run("change", "--priority", "critical")
    assert (urgent["priority"], urgent["run_at"]) == ("critical", later["run_at"])
    assert main(["change", task["id"], "--run-at", "soon"]) == 2
    assert "/run_at" in capsys.readouterr().err
    assert run("cancel")["status"] == "cancelled"
    assert run("redrive")["priority"] == "critical"
