"""The schedule commands against a running system."""

import json
import os

from tests.acceptance.system import DEADLINE, run_command
from tests.waiting import eventually

NAME = f"pulse-{os.getpid()}"


def test_a_schedule_is_put_watched_paused_and_deleted(stack):
    def run(*words):
        result = run_command(stack.folder, "schedule", *words, TASKMILL_URL=stack.client.url)
        assert result.returncode == 0, result
        return result.stdout

    def read():
        answer = stack.client.get(f"/v1/schedules/{NAME}")
        assert answer.status == 200, answer
        return answer.body

    made = json.loads(run("put", NAME, "echo", '{"say": "tick"}', "--every", "1", "--json"))
    assert (made["every_seconds"], made["task"]["payload"]) == (1, {"say": "tick"})
    eventually(lambda: read()["fired"] >= 2, within=DEADLINE, reason="it fires")
    assert ended(stack.client, read()["last_task_id"])["result"] == {"say": "tick"}

    assert "paused by" in run("pause", NAME)
    fired = read()["fired"]
    assert NAME in run("list")
    ended(stack.client, run("trigger", NAME).split()[-1])
    assert read()["fired"] >= fired

    cron = ("--cron", "30 2 * * *", "--timezone", "Europe/Berlin", "--gap", "shift")
    assert "state" in run("put", NAME, "echo", *cron)
    assert len(run("next", NAME, "--count", "3").splitlines()) == 4
    run("delete", NAME)
    assert stack.client.get(f"/v1/schedules/{NAME}").status == 404


def ended(client, task_id):
    """Return a task that has succeeded."""

    def has_succeeded():
        return client.get(f"/v1/tasks/{task_id}").body.get("status") == "succeeded"

    eventually(has_succeeded, within=DEADLINE, reason=f"the task {task_id} succeeds")
    return client.task(task_id)
