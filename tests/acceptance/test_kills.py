"""A 202 is a promise: processes die, nothing is lost, and nothing is written twice."""

import os
import random
import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Event, Thread
from uuid import uuid4

import pytest

from tests.acceptance.ledger import ends, statuses, submissions
from tests.acceptance.system import System
from tests.waiting import eventually

TASKS = 2_000
KILLS = 20
PATIENCE = 150
PAUSE_SECONDS = 0.25


@pytest.fixture
def system(folder):
    system = System(folder)
    try:
        yield system.start()
    finally:
        system.stop()


class Killer:
    """Kills a random process of some functions now and then, until it is told to end."""

    def __init__(self, client, functions, seed):
        self._client = client
        self._functions = functions
        self._random = random.Random(seed)
        self._is_over = Event()
        self._thread = Thread(target=self._run)
        self.kills = 0

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._is_over.set()
        self._thread.join()

    def _run(self):
        while not self._is_over.wait(PAUSE_SECONDS) and self.kills < KILLS:
            seen = self._client.platform()["functions"]
            pids = [pid for name in self._functions for pid in seen[name]["pids"]]
            if pids:
                with suppress(ProcessLookupError):
                    os.kill(self._random.choice(pids), signal.SIGKILL)
                    self.kills += 1


def submit_until_taken(client, number, run):
    """Submit like a careful caller: repeat under the same key until there is an answer."""
    request = {
        "type": "echo",
        "payload": {"say": number},
        "idempotency_key": f"{run}-{number}",
    }
    answers = []
    eventually(
        lambda: answers.append(client.post("/v1/tasks", request)) or answers[-1].status < 300,
        within=PATIENCE,
        reason=f"task {number} taken",
    )
    return answers[-1].body["id"]


@pytest.mark.parametrize("functions", [["Gateway", "Dispatcher", "Recorder"], ["EchoWorker"]])
def test_killed_functions_lose_nothing_and_write_nothing_twice(system, functions):
    client, run = system.client, uuid4()
    seed = random.randrange(10_000)
    with Killer(client, functions, seed) as killer, ThreadPoolExecutor(8) as callers:
        ids = list(callers.map(lambda n: submit_until_taken(client, n, run), range(TASKS)))
        eventually(lambda: killer.kills >= KILLS, within=PATIENCE, reason="all kills done")
    assert len(set(ids)) == TASKS, f"seed {seed}"
    eventually(
        lambda: statuses(system, ids) == {"succeeded": TASKS},
        within=PATIENCE,
        reason=f"every task succeeded in the ledger (seed {seed})",
    )
    eventually(
        lambda: submissions(system, ids) == (TASKS, TASKS),
        within=PATIENCE,
        reason=f"every submission once in the history (seed {seed})",
    )
    ended = {outcome: (times, tasks) for outcome, times, tasks in ends(system, ids)}
    assert ended["succeeded"] == (TASKS, TASKS), f"seed {seed}"
    assert set(ended) <= {"succeeded", "lost"}, f"seed {seed}"
