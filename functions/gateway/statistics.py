"""Statistics over HTTP: queue lengths, waiting times and throughput."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from http import HTTPStatus
from typing import Any, Final, TypeAlias

from functions.gateway.http.routes import ApiRequest, Routes, Success
from functions.gateway.presenter import moment
from taskmill.core.counting import OTHER
from taskmill.core.task import Millis, Status, TaskType
from taskmill.core.topics import readers
from taskmill.insight.gather import Board
from taskmill.insight.statistics import Depth, Statistics
from taskmill.stores.stores import Stores

routes = Routes("statistics need Kafka and the ledger")


@routes.get("/v1/stats")
def read_statistics(request: ApiRequest) -> Success:
    return Success(HTTPStatus.OK, statistics_as_json(_board(request.stores).look()))


@lru_cache(maxsize=1)
def _board(bound: Stores) -> Board:
    """Return the one cache of statistics, shared by requests within a moment."""
    types = [entry.name for entry in bound.catalogue.entries()]
    return Board(
        bound.figures,
        bound.readers,
        bound.requests,
        bound.outbox,
        readers=readers(types),
        clock=bound.clock,
    )


_Fact: TypeAlias = tuple[TaskType | None, str]

_KINDS: Final = {
    "submitted": "TaskSubmitted",
    "succeeded": "TaskSucceeded",
    "retried": "TaskDeferred",
    "died": "TaskDied",
    "cancelled": "TaskCancelled",
    "lost": "AttemptLost",
}


def statistics_as_json(statistics: Statistics) -> dict[str, Any]:
    figures = statistics.figures
    running = [one.tasks for one in figures.depths if one.status is Status.RUNNING]
    return {
        "as_of": moment(figures.as_of_ms) if figures.as_of_ms is not None else None,
        "types": _types(statistics),
        "in_flight": sum(running),
        "is_complete": figures.is_complete,
        "enqueued": _enqueued(statistics),
        "outbox": {"waiting": statistics.outbox.waiting, "parked": statistics.outbox.parked},
        "last_minute": _happened(figures.facts_of_last_minute),
        "lag": {reader.name: lag for reader, lag in statistics.lags.items()},
    }


def _types(statistics: Statistics) -> dict[str, Any]:
    facts: defaultdict[str, Counter[_Fact]] = defaultdict(Counter)
    depths: defaultdict[str, list[Depth]] = defaultdict(list)
    for (name, kind), number in statistics.figures.facts_of_last_minute.items():
        if kind in _KINDS.values() and name is not None:
            facts[name if name in statistics.types else OTHER][name, kind] += number
    for depth in statistics.figures.depths:
        depths[depth.type].append(depth)
    return {
        name: _one_type(depths[name], statistics.taken_at_ms)
        | {"last_minute": _happened(facts[name])}
        for name in sorted({*depths, *facts})
    }


def _one_type(depths: Sequence[Depth], now: Millis) -> dict[str, Any]:
    since = [one.waits_since_ms for one in depths if one.waits_since_ms is not None]
    return {
        "depth": {one.status: one.tasks for one in depths},
        "in_line": sum(one.in_line for one in depths),
        "oldest_wait_seconds": _waited(min(since, default=None), now),
    }


def _enqueued(statistics: Statistics) -> dict[str, Any]:
    backlog = statistics.backlog
    return {
        "waiting": backlog.waiting,
        "oldest_wait_seconds": _waited(backlog.oldest_at_ms, statistics.taken_at_ms),
        "parked": backlog.parked,
    }


def _waited(since: Millis | None, now: Millis) -> float | None:
    return None if since is None else round(max(now - since, 0) / 1000, 3)


def _happened(facts: Mapping[_Fact, int]) -> dict[str, int]:
    sums: Counter[str] = Counter()
    for (_, kind), number in facts.items():
        sums[kind] += number
    return {name: sums[kind] for name, kind in _KINDS.items()}
