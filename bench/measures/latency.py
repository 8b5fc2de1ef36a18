"""Latency of a task from submission to start and to end, at a steady rate."""

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any, Final

from bench.client import Client
from bench.figures import Figure, percentile
from bench.sizes import Sizes
from bench.system import System

_CONNECTIONS: Final = 4
_PERCENTS: Final = (50, 95, 99)
_LIMITS: Final[Mapping[tuple[int, str, int], float]] = {
    (100, "start", 50): 7,
    (100, "start", 99): 30,
    (200, "start", 99): 60,
}
_CPU: Final = "CPU of all processes a task"
_ENDS: Final = {"start": "started_at", "end": "finished_at"}


def measure_latency(system: System, sizes: Sizes) -> list[Figure]:
    return [
        figure
        for rate in sizes.rates
        for figure in _at_rate(system, rate, seconds=sizes.seconds_per_rate)
    ]


def _at_rate(system: System, per_second: int, *, seconds: int) -> list[Figure]:
    """Submit at a fixed rate, however long the responses take; then read the times."""
    total = per_second * seconds
    before, begins = system.usage(), time.time() + 0.5
    with ThreadPoolExecutor(_CONNECTIONS) as senders:
        shares = senders.map(
            lambda first: _send(system, begins, range(first, total, _CONNECTIONS), per_second),
            range(_CONNECTIONS),
        )
        submissions = {task: due for share in shares for task, due in share.items()}
    client = system.client()
    client.call("GET", f"/v1/tasks/{list(submissions)[-1]}?wait=20")
    cpu_seconds = sum(system.usage().since(before).values())
    tasks = [
        (client.call("GET", f"/v1/tasks/{task}?wait=20"), due) for task, due in submissions.items()
    ]
    section = f"latency at {per_second}/s, {total:,} tasks"
    cpu = Figure(section=section, name=_CPU, value=cpu_seconds * 1000 / total, unit="ms")
    return [
        cpu,
        *_waits(section, per_second, tasks),
    ]


def _waits(
    section: str, per_second: int, tasks: list[tuple[dict[str, Any], float]]
) -> list[Figure]:
    return [
        Figure(
            section=section,
            name=f"submit → {what} p{percent}",
            value=percentile(sorted(_waits_ms(tasks, field)), percent),
            unit="ms",
            limit=_LIMITS.get((per_second, what, percent)),
        )
        for what, field in _ENDS.items()
        for percent in _PERCENTS
    ]


def _send(system: System, begins: float, beats: range, per_second: int) -> dict[str, float]:
    client: Client = system.client()
    submissions = {}
    for beat in beats:
        due = begins + beat / per_second
        time.sleep(max(due - time.time(), 0))  # the rate is steady, whatever an answer takes
        task = client.call("POST", "/v1/tasks", {"type": "echo", "payload": {"say": beat}})
        submissions[task["id"]] = due
    return submissions


def _waits_ms(tasks: list[tuple[dict[str, Any], float]], field: str) -> list[float]:
    return [(datetime.fromisoformat(task[field]).timestamp() - due) * 1000 for task, due in tasks]
