"""Cost of submitting over HTTP, compared with a bare function behind the same front."""

import time
from dataclasses import dataclass
from typing import Final

from bench.children import held_still
from bench.figures import Better, Figure, percentile
from bench.measures.load import a_task
from bench.project import BARE_PATH
from bench.sizes import Sizes
from bench.system import System

_SECTION: Final = "submit over HTTP, one connection, the rest of the queue held still"
_BATCHES: Final = (100, 1_000)
_PERCENTS: Final = (50, 95, 99)
_MOST_OF_BARE: Final = 6
_LEAST_OF_SINGLE: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    name: str
    tasks: int
    """Number of tasks per request."""

    seconds: list[float]

    @property
    def rate(self) -> float:
        return self.tasks * len(self.seconds) / sum(self.seconds)

    def percentile_ms(self, percent: int) -> float:
        return percentile(self.seconds, percent) * 1000


def measure_submission(system: System, sizes: Sizes) -> list[Figure]:
    task = a_task()
    since = system.ledger.now()
    with held_still(system.pids_of("Dispatcher", "Recorder", "EchoWorker")):
        bare = _run(system, "bare function", BARE_PATH, task, times=sizes.singles)
        single = _run(system, "single", "/v1/tasks", task, times=sizes.singles)
        batches = [
            _run(
                system,
                f"batch of {size:,}",
                "/v1/tasks/batch",
                {"tasks": [task] * size},
                times=sizes.batches,
                tasks=size,
            )
            for size in _BATCHES
        ]
    runs = [single, *batches]
    tasks = sum(run.tasks * (len(run.seconds) + _WARM_UPS) for run in runs)
    system.ledger.wait_until_done(tasks, since=since)
    return [
        *(figure for run in (bare, *runs) for figure in _figures(run)),
        Figure(
            section=_SECTION,
            name="single p50, of the bare function's",
            value=single.percentile_ms(50) / bare.percentile_ms(50),
            unit="x",
            limit=_MOST_OF_BARE,
        ),
        Figure(
            section=_SECTION,
            name="tasks/s in batches of 1,000, of those one by one",
            value=batches[-1].rate / single.rate,
            unit="x",
            better=Better.MORE,
            limit=_LEAST_OF_SINGLE,
        ),
    ]


_WARM_UPS: Final = 3


def _run(  # noqa: PLR0913 - what is sent, where and how often, each named
    system: System, name: str, path: str, body: object, *, times: int, tasks: int = 1
) -> _Run:
    client = system.client()
    request = client.request("POST", path, body)
    seconds = []
    for _ in range(_WARM_UPS + times):
        began = time.perf_counter()
        client.exchange(request)
        seconds.append(time.perf_counter() - began)
    client.close()
    return _Run(name=name, tasks=tasks, seconds=sorted(seconds[_WARM_UPS:]))


def _figures(run: _Run) -> list[Figure]:
    return [
        Figure(
            section=_SECTION,
            name=run.name,
            value=run.rate,
            unit="tasks/s" if run.name != "bare function" else "requests/s",
            better=Better.MORE,
        ),
        *(
            Figure(
                section=_SECTION,
                name=f"{run.name} p{percent}",
                value=run.percentile_ms(percent),
                unit="ms",
            )
            for percent in _PERCENTS
        ),
    ]
