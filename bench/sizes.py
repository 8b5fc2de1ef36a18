"""The sizes of all measurements."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    warm_ups: int
    warm_up_tasks: int
    schedulers: int
    """Started before anything is measured."""

    drains: int
    drain_tasks: int
    yardstick_tasks: int
    singles: int
    batches: int
    """Number of requests of each size."""

    rates: tuple[int, ...]
    seconds_per_rate: int
    slow_seconds: float
    idle_seconds: int
    cold_starts: int
    waiting: tuple[int, ...]
    far_tasks: int
    paused_tasks: int
    """0 leaves this measurement out."""


FULL: Final = Sizes(
    warm_ups=2,
    warm_up_tasks=4_000,
    schedulers=3,
    drains=3,
    drain_tasks=20_000,
    yardstick_tasks=20_000,
    singles=2_000,
    batches=20,
    rates=(100, 200),
    seconds_per_rate=20,
    slow_seconds=20,
    idle_seconds=20,
    cold_starts=7,
    waiting=(2_000, 10_000, 100_000),
    far_tasks=20_000,
    paused_tasks=1_000_000,
)
COMPARISON: Final = Sizes(
    warm_ups=2,
    warm_up_tasks=4_000,
    schedulers=3,
    drains=1,
    drain_tasks=10_000,
    yardstick_tasks=0,
    singles=500,
    batches=20,
    rates=(200,),
    seconds_per_rate=5,
    slow_seconds=3,
    idle_seconds=5,
    cold_starts=3,
    waiting=(2_000, 10_000),
    far_tasks=1_000,
    paused_tasks=0,
)
"""One round of several."""

QUICK: Final = Sizes(
    warm_ups=1,
    warm_up_tasks=1_000,
    schedulers=1,
    drains=1,
    drain_tasks=2_000,
    yardstick_tasks=500,
    singles=50,
    batches=2,
    rates=(50,),
    seconds_per_rate=2,
    slow_seconds=1,
    idle_seconds=1,
    cold_starts=1,
    waiting=(1_000, 2_000),
    far_tasks=1_000,
    paused_tasks=2_000,
)
