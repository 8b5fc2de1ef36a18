"""Searches for a counterexample for a while: rounds of hypothesis, each with its own seed."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy

EXAMPLES_A_ROUND = 200
_HOW = settings(
    max_examples=EXAMPLES_A_ROUND,
    database=None,
    deadline=None,
    phases=(Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
)


@dataclass(frozen=True)
class Target:
    """An input strategy and a property that must hold for every input."""

    name: str
    food: SearchStrategy[Any]
    holds: Callable[[Any], None]


def explore(target: Target, *, seconds: float, seed: int) -> int:
    """Feed *target* until the time is over; return the number of inputs."""
    fed = 0
    until = time.monotonic() + seconds

    def feed(food: Any) -> None:
        nonlocal fed
        fed += 1
        target.holds(food)

    while time.monotonic() < until:
        of_round = seed + fed
        try:
            hypothesis.seed(of_round)(_HOW(given(target.food)(feed)))()
        except BaseException as error:
            error.add_note(f"{target.name} broke in a round that begins with SEED={of_round}")
            raise
    return fed
