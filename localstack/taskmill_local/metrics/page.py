"""`GET /metrics`: the functions' metrics and the platform's own."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Final, Literal

from taskmill_local.lambdas.pool import PoolSnapshot
from taskmill_local.mappings.snapshot import MappingSnapshot
from taskmill_local.metrics.exposition import Family, exposition, families_of
from taskmill_local.metrics.meter import Meter


@dataclass(frozen=True, slots=True)
class _OfFunctions:
    name: str
    kind: Literal["counter", "gauge"]
    about: str
    value: Callable[[PoolSnapshot], float]


@dataclass(frozen=True, slots=True)
class _OfMappings:
    name: str
    kind: Literal["counter", "gauge"]
    about: str
    value: Callable[[MappingSnapshot], float]


_FUNCTIONS: Final = (
    _OfFunctions(
        "taskmill_function_invocations_total",
        "counter",
        "Finished invocations",
        attrgetter("invocations"),
    ),
    _OfFunctions(
        "taskmill_function_errors_total",
        "counter",
        "Invocations that ended with an error, a timeout or the end of their process",
        attrgetter("errors"),
    ),
    _OfFunctions(
        "taskmill_function_cold_starts_total",
        "counter",
        "Started processes",
        attrgetter("cold_starts"),
    ),
    _OfFunctions(
        "taskmill_function_throttles_total",
        "counter",
        "Invocations that found all processes busy; they wait here but are throttled in the cloud",
        attrgetter("throttles"),
    ),
    _OfFunctions(
        "taskmill_function_in_flight",
        "gauge",
        "Invocations running now",
        attrgetter("busy"),
    ),
    _OfFunctions(
        "taskmill_function_queued",
        "gauge",
        "Invocations waiting for a process",
        attrgetter("queued"),
    ),
    _OfFunctions(
        "taskmill_function_environments",
        "gauge",
        "Live processes",
        attrgetter("environments"),
    ),
)
_MAPPINGS: Final = (
    _OfMappings(
        "taskmill_mapping_lag",
        "gauge",
        "Records between the last commit and the end of the topic; in a worker topic only wake-ups",
        lambda answer: sum(answer.lag.values()),
    ),
    _OfMappings(
        "taskmill_mapping_in_flight",
        "gauge",
        "Batches in flight",
        attrgetter("in_flight"),
    ),
    _OfMappings(
        "taskmill_mapping_records_total",
        "counter",
        "Records in finished batches",
        attrgetter("records"),
    ),
    _OfMappings(
        "taskmill_mapping_batches_total",
        "counter",
        "Finished batches",
        attrgetter("batches"),
    ),
    _OfMappings(
        "taskmill_mapping_failures_total",
        "counter",
        "Batches with records to retry",
        attrgetter("failures"),
    ),
)


def metrics_page(
    meter: Meter,
    functions: Mapping[str, PoolSnapshot],
    mappings: Mapping[str, MappingSnapshot],
) -> bytes:
    return exposition([*families_of(meter), *_of_platform(functions, mappings)])


def _of_platform(
    functions: Mapping[str, PoolSnapshot], mappings: Mapping[str, MappingSnapshot]
) -> Iterator[Family]:
    for figure in _FUNCTIONS:
        yield Family(
            name=figure.name,
            about=figure.about,
            kind=figure.kind,
            samples=[
                ("", (("function", name),), figure.value(pool)) for name, pool in functions.items()
            ],
        )
    for one in _MAPPINGS:
        yield Family(
            name=one.name,
            about=one.about,
            kind=one.kind,
            samples=[
                ("", (("function", mapping.function), ("topic", mapping.topic)), one.value(mapping))
                for mapping in mappings.values()
            ],
        )
