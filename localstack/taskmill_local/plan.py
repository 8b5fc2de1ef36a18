"""Everything that a template asks the platform to run, as plain values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionPlan:
    name: str
    handler: str
    code: Path
    timeout: timedelta
    memory_mb: int
    concurrency: int
    environment: Mapping[str, str]
    hands_back: bool = False
    """Whether SIGTERM ends its invocations early: workers then give back what they run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutePlan:
    method: str
    path: str
    function: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingPlan:
    """A Kafka event-source mapping: which topic feeds which function, and how."""

    name: str
    function: str
    topic: str
    group: str
    batch_size: int
    window: timedelta
    most_in_flight: int
    """How many batches the pollers hand over side by side, if so many partitions have records."""

    cluster: str | None = None
    """ARN of the cluster, as in its events; None for a self-managed Kafka."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RulePlan:
    name: str
    function: str
    expression: str
    event: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    functions: Mapping[str, FunctionPlan]
    routes: tuple[RoutePlan, ...]
    mappings: tuple[MappingPlan, ...]
    rules: tuple[RulePlan, ...]


def fitted(mappings: Sequence[MappingPlan], caps: Mapping[str, int]) -> list[MappingPlan]:
    """Limit each mapping's batches in flight to what can run, so that queued batches stay small."""
    return [
        replace(mapping, most_in_flight=min(mapping.most_in_flight, caps[mapping.function]))
        for mapping in mappings
    ]
