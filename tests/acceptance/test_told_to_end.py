"""A worker process that gets SIGTERM finishes or returns its tasks, and loses none."""

import os
import signal
from contextlib import suppress

from tests.acceptance.ledger import history
from tests.waiting import eventually

PATIENCE = 25
LONG = 60


def worker(client):
    return client.platform()["functions"]["EchoWorker"]


def test_what_runs_comes_to_its_end_and_what_does_not_comes_again(stack, client):
    client.task(client.submit({"say": "first"})["id"], wait=PATIENCE)
    before = worker(client)  # one that has just been started would not listen yet
    tasks = [{"type": "echo", "payload": {"sleep_seconds": 0.5}} for _ in range(40)]
    batch = client.post("/v1/tasks/batch", {"tasks": tasks})
    ids = [result["task"]["id"] for result in batch.body["results"]]
    eventually(
        lambda: client.task(ids[0])["status"] != "queued", within=LONG, reason="the first runs"
    )
    for pid in before["pids"]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    ends = [client.task(task, wait=PATIENCE) for task in ids]
    assert {(end["status"], end["attempt"], end["losses"]) for end in ends} == {("succeeded", 1, 0)}
    eventually(
        lambda: not {*before["pids"]} & {*worker(client)["pids"]},
        within=LONG,
        reason="all processes that got the signal have ended",
    )
    assert worker(client)["errors"] == before["errors"]
    for task in ids:
        eventually(
            lambda task=task: [kind for kind, _ in history(stack, task)][-1:] == ["TaskSucceeded"],
            within=LONG,
            reason="its success is in the ledger",
        )


def test_what_would_run_for_long_is_given_back_and_is_no_loss(client):
    task = client.submit({"sleep_seconds": 4, "say": "long"})["id"]
    eventually(
        lambda: client.task(task)["status"] == "running", within=LONG, reason="it is at work"
    )
    for pid in worker(client)["pids"]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    end = client.task(task, wait=PATIENCE)
    assert (end["status"], end["attempt"], end["losses"]) == ("succeeded", 1, 0)
    first, *_ = client.get(f"/v1/tasks/{task}/history").body["attempts"]
    assert (first["outcome"], first["reason"]) == ("deferred", "stopped")
