"""What a backlog costs that waits for a paused type: most of it on the shelf, in the ledger."""

import time
from typing import Any, Final

from bench.figures import Better, Figure
from bench.measures.load import submit
from bench.memory import redis_of, used
from bench.sizes import Sizes
from bench.system import System
from taskmill.core.task import TaskType
from taskmill.lanes.caps import USUAL_CAPS
from taskmill.lanes.lane import lane_of
from taskmill.stores.redis.keys import lane_keys

_SECTION: Final = "backlog of a paused type"
_ECHO: Final = TaskType("echo")
_LEAST_OF_UNPAUSED: Final = 0.9
_SLOWEST: Final = 500
"""Tasks a second: whatever takes longer hangs."""

_SHORTEST_PATIENCE: Final = 60
_GLANCE_SECONDS: Final = 0.5


def measure_paused(system: System, sizes: Sizes) -> list[Figure]:
    """Submit to the type first while it runs, then while it is paused, and resume it."""
    if not sizes.paused_tasks:
        return []
    unpaused = _submit_and_run(system, min(sizes.paused_tasks, sizes.drain_tasks))
    since = system.ledger.now()
    with redis_of(system) as redis:
        _pause(system)
        backlog = _Backlog(system, redis, sizes.paused_tasks)
        paused = backlog.build()
        sizes_of_lane = backlog.figures()
    began = time.monotonic()
    _resume(system)
    patience = max(sizes.paused_tasks / _SLOWEST, _SHORTEST_PATIENCE)
    system.ledger.wait_until_done(sizes.paused_tasks, since=since, patience=patience)
    drain = sizes.paused_tasks / (time.monotonic() - began)
    return [
        _rate("submits to the type while it runs", unpaused),
        _rate(f"{sizes.paused_tasks:,} submits while it is paused", paused),
        Figure(
            section=_SECTION,
            name="submits while it is paused, of those while it runs",
            value=paused / unpaused,
            unit="x",
            better=Better.MORE,
            limit=_LEAST_OF_UNPAUSED,
        ),
        *sizes_of_lane,
        _rate("drain after the resume", drain),
    ]


class _Backlog:
    def __init__(self, system: System, redis: Any, tasks: int) -> None:
        self._system = system
        self._redis = redis
        self._tasks = tasks
        self._full = min(tasks, USUAL_CAPS.line_tasks)
        self._used = [used(redis)]

    def build(self) -> float:
        """Fill the line, then its shelf; return how many tasks a second were accepted."""
        seconds = 0.0
        for count, target in ((self._full, self._full), (self._tasks - self._full, self._tasks)):
            began = time.monotonic()
            submit(self._system, count)
            seconds += time.monotonic() - began
            self._wait_for(target)
            self._used.append(used(self._redis))
        return self._tasks / seconds

    def figures(self) -> list[Figure]:
        in_line, shelved = self._waiting()
        size = int(self._redis.hget(_KEYS.sizes, "") or 0)
        empty, full, at_last = self._used
        figures = [
            Figure(
                section=_SECTION,
                name="tasks in the lane",
                value=in_line,
                unit="tasks",
                limit=USUAL_CAPS.lane_tasks,
            ),
            Figure(
                section=_SECTION,
                name="envelopes in the lane",
                value=size,
                unit="bytes",
                limit=USUAL_CAPS.lane_bytes,
            ),
            _bytes("bytes of Redis for each task in line", (full - empty) / self._full),
        ]
        if shelved:
            name = "bytes of Redis for each shelved task, once it has its row"
            figures.append(_bytes(name, max(at_last - full, 0) / shelved))
        return figures

    def _wait_for(self, tasks: int) -> None:
        """Wait until all wait in the lane or on the shelf, without records for the shelved ones."""
        deadline = time.monotonic() + max(tasks / _SLOWEST, _SHORTEST_PATIENCE)
        while sum(self._waiting()) < tasks or self._system.ledger.shelved_with_records():
            if time.monotonic() > deadline:
                raise SystemExit(f"only {sum(self._waiting()):,} of {tasks:,} tasks wait")
            time.sleep(_GLANCE_SECONDS)  # between two looks

    def _waiting(self) -> tuple[int, int]:
        return self._redis.zcard(_KEYS.lines), self._system.ledger.shelved()


_KEYS: Final = lane_keys(lane_of(_ECHO))


def _submit_and_run(system: System, tasks: int) -> float:
    since, began = system.ledger.now(), time.monotonic()
    submit(system, tasks)
    rate = tasks / (time.monotonic() - began)
    system.ledger.wait_until_done(tasks, since=since)
    return rate


def _pause(system: System) -> None:
    system.client().call("POST", "/v1/pauses", {"type": _ECHO, "reason": "a benchmark"})


def _resume(system: System) -> None:
    system.client().call("DELETE", f"/v1/pauses/type:{_ECHO}")


def _rate(name: str, value: float) -> Figure:
    return Figure(section=_SECTION, name=name, value=value, unit="tasks/s", better=Better.MORE)


def _bytes(name: str, value: float) -> Figure:
    return Figure(section=_SECTION, name=name, value=value, unit="bytes")
