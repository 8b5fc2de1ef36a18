"""How fast accepted tasks are run and recorded: the drain."""

import time
from dataclasses import dataclass
from statistics import median
from typing import Final

from bench.children import held_still
from bench.figures import Better, Figure
from bench.measures.load import submit
from bench.memory import redis_of, used
from bench.sizes import Sizes
from bench.system import System

DRAIN: Final = "drain"
TASKMILL: Final = "taskmill"
_CPU: Final = "CPU ms per 1,000 tasks: in the drain"
_CPU_WITH_INTAKE: Final = "CPU ms per 1,000 tasks: from the request to the ledger"
_MEMORY: Final = "peak memory by part"
_MOST_CPU_MS: Final = 250
_LATEST_SCHEDULER_SECONDS: Final = 200
_GLANCE_SECONDS: Final = 0.5
_START_SECONDS: Final = 10
"""A scheduler imports what its periodic jobs need, and runs each of them once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drain:
    tasks: int
    intake_seconds: float
    drain_seconds: float
    cpu_ms_in_all: dict[str, float]
    """CPU milliseconds per 1,000 tasks, by part; with the submission over HTTP."""

    cpu_ms: dict[str, float]
    redis_bytes: float
    """What each waiting task took in Redis before the drain."""

    @property
    def rate(self) -> float:
        """Return tasks per second, from their acceptance until the ledger is complete."""
        return self.tasks / self.drain_seconds


def drain(system: System, tasks: int, *, in_line: bool = False) -> Drain:
    """Submit *tasks* while dispatcher and recorder are stopped, then release them.

    With *in_line* it is the worker that is stopped: all of them wait for it.
    """
    since, before = system.ledger.now(), system.usage()
    stopped = ("EchoWorker",) if in_line else ("Dispatcher", "Recorder")
    with redis_of(system) as redis, held_still(system.pids_of(*stopped)):
        empty = used(redis)
        began = time.monotonic()
        submit(system, tasks)
        intake_seconds = time.monotonic() - began
        if in_line:
            system.await_backlog("tasks.pending")
        intake, full = system.usage(), used(redis)
    drain_seconds = system.ledger.wait_until_done(tasks, since=since)
    end = system.usage()
    return Drain(
        tasks=tasks,
        intake_seconds=intake_seconds,
        drain_seconds=drain_seconds,
        cpu_ms_in_all={name: seconds * 1e6 / tasks for name, seconds in end.since(before).items()},
        redis_bytes=(full - empty) / tasks,
        cpu_ms={name: seconds * 1e6 / tasks for name, seconds in end.since(intake).items()},
    )


def warm_up(system: System, sizes: Sizes) -> None:
    """Wait for the schedulers to start, and drain a little.

    The rule starts one each minute, and each lives for two: later ones are warm.
    """
    deadline = time.monotonic() + _LATEST_SCHEDULER_SECONDS
    while len(system.pids_of("Scheduler")) < sizes.schedulers:
        if time.monotonic() > deadline:
            raise SystemExit(f"there are not {sizes.schedulers} schedulers: is their rule gone?")
        time.sleep(_GLANCE_SECONDS)  # between two checks
    if sizes.schedulers > 1:
        time.sleep(_START_SECONDS)  # so that the last one's start is in no figure
    for _ in range(sizes.warm_ups):
        drain(system, sizes.warm_up_tasks)


def measure_drain(system: System, sizes: Sizes) -> list[Figure]:
    drains = [drain(system, sizes.drain_tasks) for _ in range(sizes.drains)]
    return [
        Figure(
            section=DRAIN,
            name=TASKMILL,
            value=median(one.rate for one in drains),
            unit="tasks/s",
            better=Better.MORE,
        ),
        Figure(
            section=DRAIN,
            name="accepted meanwhile, by two clients in batches",
            value=median(one.tasks / one.intake_seconds for one in drains),
            unit="tasks/s",
            better=Better.MORE,
        ),
        *_by_part(_CPU, [one.cpu_ms for one in drains], limit=_MOST_CPU_MS),
        *_by_part(_CPU_WITH_INTAKE, [one.cpu_ms_in_all for one in drains], limit=None),
        *(
            Figure(section=_MEMORY, name=name, value=peak, unit="MB")
            for name, peak in sorted(system.peak_memory_mb().items(), key=lambda pair: -pair[1])
        ),
    ]


def _by_part(section: str, drains: list[dict[str, float]], limit: float | None) -> list[Figure]:
    parts = {name: median(one.get(name, 0.0) for one in drains) for name in drains[0]}
    whole = median(sum(one.values()) for one in drains)
    return [
        *(
            Figure(section=section, name=name, value=value, unit="ms")
            for name, value in sorted(parts.items(), key=lambda pair: -pair[1])
        ),
        Figure(section=section, name="all", value=whole, unit="ms", limit=limit),
    ]
