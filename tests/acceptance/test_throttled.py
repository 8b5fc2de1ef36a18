"""A function limited to one process queues its work and loses none."""

from tests.acceptance.ledger import ends
from tests.acceptance.system import System
from tests.waiting import eventually

TASKS = 600
LONG = 120


def test_a_function_with_one_process_works_off_a_backlog_without_loss(folder):
    system = System(folder, TASKMILL_CONCURRENCY="1")
    try:
        client = system.start().client
        task = {"type": "echo", "payload": {"sleep_seconds": 0.05}}
        answers = [
            client.post("/v1/tasks/batch", {"tasks": [task] * 100}) for _ in range(TASKS // 100)
        ]
        ids = [one["task"]["id"] for answer in answers for one in answer.body["results"]]
        eventually(
            lambda: ends(system, ids) == [("succeeded", TASKS, TASKS)],
            within=LONG,
            reason="each has succeeded, in one attempt",
        )
        assert len(client.platform()["functions"]["EchoWorker"]["pids"]) == 1
    finally:
        system.stop()
