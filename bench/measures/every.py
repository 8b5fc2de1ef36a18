"""Every measurement of a running system, by name."""

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from bench.figures import Figure
from bench.measures.cold import measure_cold
from bench.measures.drain import measure_drain
from bench.measures.far import measure_far
from bench.measures.growth import measure_growth
from bench.measures.head_of_line import measure_head_of_line
from bench.measures.idle import measure_idle
from bench.measures.latency import measure_latency
from bench.measures.paused import measure_paused
from bench.measures.submission import measure_submission
from bench.sizes import Sizes
from bench.system import System

Measure: TypeAlias = Callable[[System, Sizes], list[Figure]]

# The idle system is measured before anything fills the ledger, the largest drains last.
MEASURES: Final[Mapping[str, Measure]] = {
    "idle": measure_idle,
    "submit": measure_submission,
    "latency": measure_latency,
    "head": measure_head_of_line,
    "drain": measure_drain,
    "cold": measure_cold,
    "far": measure_far,
    "growth": measure_growth,
    "paused": measure_paused,
}
