"""What a template asks the platform to run, as plain values."""

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
    pollers: int
    cluster: str | None = None
    """The ARN of the cluster, as its events tell; none for a Kafka that is not managed."""


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
    """Let no mapping have more in flight than can run: small batches in a queue stay small."""
    return [
        replace(mapping, pollers=min(mapping.pollers, caps[mapping.function]))
        for mapping in mappings
    ]
