"""The pause commands against a running system."""

import json
import os

import pytest

from tests.acceptance.system import DEADLINE, run_command
from tests.waiting import eventually

KEY = f"paused-{os.getpid()}"
OTHER = '{"url": "https://hooks.example.com/in", "secret": "nobody"}'
ENDED = {"dead", "succeeded"}


@pytest.fixture
def run(stack):
    """Yield a way to run a command; afterwards, nothing is paused."""

    def run(*words):
        result = run_command(stack.folder, *words, TASKMILL_URL=stack.client.url)
        assert result.returncode == 0, result
        return result.stdout

    yield run
    for one in stack.client.get("/v1/pauses").body["pauses"]:
        stack.client.ask("DELETE", f"/v1/pauses/{one['id']}")


def ended(client, task_id):
    eventually(
        lambda: client.task(task_id)["status"] in ENDED,
        within=DEADLINE,
        reason=f"the task {task_id} ends",
    )
    return client.task(task_id)["status"]


def test_what_is_submitted_to_a_paused_type_runs_after_its_resume(stack, run):
    assert run("pause", "echo", "--reason", KEY) == "echo is paused until it is resumed.\n"
    assert KEY in run("pauses")
    waiting = stack.client.submit({"say": "hello"}, idempotency_key=KEY)["id"]
    other = json.loads(run("submit", "webhook", OTHER, "--json"))
    ended(stack.client, other["id"])  # without a signing secret it dies at once
    assert stack.client.task(waiting)["status"] == "queued"
    assert run("resume", "echo") == "echo is resumed.\n"
    assert ended(stack.client, waiting) == "succeeded"
    assert KEY not in run("pauses")
