"""How fast accepted tasks are done and written: the drain."""

import os
import signal
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

from bench.system import Client, System

BATCH = 1_000
INTAKE_CONNECTIONS = 2
PAYLOAD_BYTES = 500
GLANCE_SECONDS = 0.1
DEADLINE_SECONDS = 300


@dataclass(frozen=True, slots=True)
class Drain:
    tasks: int
    intake_seconds: float
    drain_seconds: float
    cpu_ms_per_1000: dict[str, float]

    @property
    def intake_rate(self) -> float:
        return self.tasks / self.intake_seconds

    @property
    def rate(self) -> float:
        """Return tasks per second, from all accepted until the ledger is complete."""
        return self.tasks / self.drain_seconds


def drain(system: System, tasks: int) -> Drain:
    """Let *tasks* be accepted while dispatcher and recorder hold still; then let them go."""
    wanted = _done(system) + tasks
    used_before = system.usage()
    with _held_still(system, ("Dispatcher", "Recorder")):
        began = time.monotonic()
        _submit(system, tasks)
        accepted = time.monotonic()
    while _done(system) < wanted:
        if time.monotonic() - accepted > DEADLINE_SECONDS:
            raise SystemExit(f"the ledger is not complete after {DEADLINE_SECONDS} s")
        time.sleep(GLANCE_SECONDS)
    complete = time.monotonic()
    used = system.usage().since(used_before)
    return Drain(
        tasks=tasks,
        intake_seconds=accepted - began,
        drain_seconds=complete - accepted,
        cpu_ms_per_1000={name: spent * 1e6 / tasks for name, spent in used.items()},
    )


@contextmanager
def _held_still(system: System, functions: Sequence[str]) -> Iterator[None]:
    """Stop the processes of *functions* for a while: what is accepted meanwhile waits."""
    seen = system.look()["functions"]
    pids = [pid for name in functions for pid in seen[name]["pids"]]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def _submit(system: System, tasks: int) -> None:
    task = {"type": "echo", "payload": {"say": "x" * (PAYLOAD_BYTES - len('{"say":""}'))}}
    share = tasks // BATCH // INTAKE_CONNECTIONS
    with ThreadPoolExecutor(INTAKE_CONNECTIONS) as senders:
        sent = [
            senders.submit(_send, system.client(), {"tasks": [task] * BATCH}, share)
            for _ in range(INTAKE_CONNECTIONS)
        ]
        for one in sent:
            one.result()


def _send(client: Client, body: object, times: int) -> None:
    for _ in range(times):
        client.call("POST", "/v1/tasks/batch", body)


def _done(system: System) -> int:
    counts = system.look()["tasks"]
    return sum(counts.get(status, 0) for status in ("succeeded", "dead", "cancelled"))
