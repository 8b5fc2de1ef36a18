"""How long a task waits from its submission to its start, at a steady rate."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime

from bench.system import Client, System

CONNECTIONS = 4
DEADLINE_SECONDS = 60
GLANCE_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Latency:
    per_second: int
    tasks: int
    p50_ms: float
    p95_ms: float
    p99_ms: float


def latency(system: System, *, per_second: int, seconds: int) -> Latency:
    """Submit on the beat of a clock, whatever the answers take, and compare with the starts."""
    total = per_second * seconds
    begins = time.time() + 0.5
    with ThreadPoolExecutor(CONNECTIONS) as senders:
        shares = senders.map(
            lambda first: _send(
                system.client(), begins, range(first, total, CONNECTIONS), per_second
            ),
            range(CONNECTIONS),
        )
        sent = {task: at for share in shares for task, at in share.items()}
    waits = sorted(_wait_ms(system.client(), task, at) for task, at in sent.items())
    return Latency(
        per_second=per_second,
        tasks=total,
        p50_ms=waits[len(waits) // 2],
        p95_ms=waits[len(waits) * 95 // 100],
        p99_ms=waits[len(waits) * 99 // 100],
    )


def _send(client: Client, begins: float, beats: range, per_second: int) -> dict[str, float]:
    sent = {}
    for beat in beats:
        due = begins + beat / per_second
        time.sleep(max(due - time.time(), 0))
        task = client.call("POST", "/v1/tasks", {"type": "echo", "payload": {"say": beat}})
        sent[task["id"]] = due
    return sent


def _wait_ms(client: Client, task_id: str, sent_at: float) -> float:
    task = client.call("GET", f"/v1/tasks/{task_id}?wait=20")
    return (datetime.fromisoformat(task["started_at"]).timestamp() - sent_at) * 1000
