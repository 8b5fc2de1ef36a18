"""How the cost of a task grows with the number of waiting tasks."""

from statistics import median
from typing import Final

from bench.figures import Better, Figure
from bench.measures.drain import Drain, drain
from bench.sizes import Sizes
from bench.system import System

_SECTION: Final = "drain by tasks that wait"
_ENOUGH_TASKS: Final = 20_000
_LEAST_RATIO: Final = 0.8


def measure_growth(system: System, sizes: Sizes) -> list[Figure]:
    drains = {waiting: _drains(system, waiting) for waiting in sizes.waiting}
    rates = {waiting: median(one.rate for one in all_) for waiting, all_ in drains.items()}
    least, *_, most = sizes.waiting
    return [
        *(
            Figure(
                section=_SECTION,
                name=f"{waiting:,} waiting",
                value=rate,
                unit="tasks/s",
                better=Better.MORE,
            )
            for waiting, rate in rates.items()
        ),
        *(
            Figure(
                section=_SECTION,
                name=f"{waiting:,} waiting: CPU per 1,000 tasks",
                value=median(sum(one.cpu_ms.values()) for one in all_),
                unit="ms",
            )
            for waiting, all_ in drains.items()
        ),
        *(
            Figure(
                section=_SECTION,
                name=f"{waiting:,} waiting: bytes of Redis for each waiting task",
                value=median(one.redis_bytes for one in all_),
                unit="bytes",
            )
            for waiting, all_ in drains.items()
        ),
        Figure(
            section=_SECTION,
            name=f"rate with {most:,} waiting, of that with {least:,}",
            value=rates[most] / rates[least],
            unit="x",
            better=Better.MORE,
            limit=_LEAST_RATIO,
        ),
    ]


def _drains(system: System, waiting: int) -> list[Drain]:
    """Drain a few tasks several times: one short drain says little."""
    times = min(max(_ENOUGH_TASKS // waiting, 1), 5)
    return [drain(system, waiting, in_line=True) for _ in range(times)]
