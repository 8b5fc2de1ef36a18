"""How long quick tasks wait beside slow ones of the same type."""

import time
from datetime import datetime
from typing import Final

from bench.figures import Figure, percentile
from bench.sizes import Sizes
from bench.system import System

_SECTION: Final = "head of line"
_SLEEPERS: Final = 4
_QUICK: Final = 20
_SLOW_SECONDS: Final = 20.0
_QUICK_SECONDS: Final = 0.002
_MOST_MS: Final = 250


def measure_head_of_line(system: System, sizes: Sizes) -> list[Figure]:
    """Let a few tasks sleep, then submit quick ones: a place is free for each of them."""
    seconds = min(_SLOW_SECONDS, sizes.slow_seconds)
    client = system.client()
    for _ in range(_SLEEPERS):
        client.call("POST", "/v1/tasks", _echo(seconds))
    time.sleep(1)  # they all run by then
    ids = [client.call("POST", "/v1/tasks", _echo(_QUICK_SECONDS))["id"] for _ in range(_QUICK)]
    tasks = [client.call("GET", f"/v1/tasks/{one}?wait=25") for one in ids]
    waits = sorted(_waited_ms(task) for task in tasks)
    return [
        Figure(
            section=_SECTION,
            name=f"{_QUICK} quick tasks beside {_SLEEPERS} of {seconds:.0f} s: p{percent}",
            value=percentile(waits, percent),
            unit="ms",
            limit=_MOST_MS if percent == 99 else None,  # noqa: PLR2004 - the promise is about p99
        )
        for percent in (50, 99)
    ]


def _echo(seconds: float) -> dict[str, object]:
    return {"type": "echo", "payload": {"say": "hello", "sleep_seconds": seconds}}


def _waited_ms(task: dict[str, str]) -> float:
    started, created = (datetime.fromisoformat(task[name]) for name in ("started_at", "created_at"))
    return (started - created).total_seconds() * 1000
