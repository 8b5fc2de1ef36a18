"""Statistics and types over HTTP: what waits and runs, waiting times, throughput, workers."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from http import HTTPStatus
from typing import Any, Final, TypeAlias

from functions.gateway.http.routes import ApiRequest, Routes, Success
from functions.gateway.pauses import pause_as_json
from functions.gateway.presenter import moment, type_as_json
from taskmill.core.counting import OTHER
from taskmill.core.task import PRIORITY_NAMES, Millis, Priority, Status, TaskType
from taskmill.core.topics import LOG_READERS
from taskmill.insight.gather import Board
from taskmill.insight.shelves import Shelves
from taskmill.insight.statistics import Depth, Statistics
from taskmill.insight.types import TAKES_WITHIN, TypeState, WorkerState, states_of
from taskmill.lanes.lane import ClassCount, LaneCount
from taskmill.stores.stores import Stores

routes = Routes("statistics need Kafka and the ledger")

_ALONE: Final = "alone"


@routes.get("/v1/stats")
def read_statistics(request: ApiRequest) -> Success:
    return Success(HTTPStatus.OK, statistics_as_json(_board(request.stores).look()))


@routes.get("/v1/types")
def list_types(request: ApiRequest) -> Success:
    entries, states = request.stores.catalogue.entries(), _states_now(request.stores)
    views = [
        type_as_json(one) | {"now": _state_as_json(one.name, states[one.name])} for one in entries
    ]
    return Success(HTTPStatus.OK, {"types": views})


@lru_cache(maxsize=1)
def _board(bound: Stores) -> Board:
    """Return the one cache of statistics, shared by requests within a moment."""
    return Board(
        bound.figures,
        bound.readers,
        bound.requests,
        bound.outbox,
        readers=LOG_READERS,
        states=lambda: _states_now(bound),
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
            facts[name if name in statistics.states else OTHER][name, kind] += number
    for depth in statistics.figures.depths:
        depths[depth.type].append(depth)
    shown = {name for name, state in statistics.states.items() if state.is_noteworthy}
    return {
        name: _one_type(depths[name], statistics.taken_at_ms)
        | {"now": _now(name, statistics), "last_minute": _happened(facts[name])}
        for name in sorted({*depths, *facts, *shown})
    }


def _now(name: str, statistics: Statistics) -> dict[str, Any] | None:
    state = statistics.states.get(TaskType(name))
    return None if state is None else _state_as_json(TaskType(name), state)


def _one_type(depths: Sequence[Depth], now: Millis) -> dict[str, Any]:
    since = [one.waits_since_ms for one in depths if one.waits_since_ms is not None]
    return {
        "depth": _by_status(depths),
        "priorities": {
            PRIORITY_NAMES[priority]: _by_status(same)
            for priority in sorted(Priority, reverse=True)
            if (same := [one for one in depths if one.priority is priority])
        },
        "in_line": sum(one.in_line for one in depths),
        "oldest_wait_seconds": _waited(min(since, default=None), now),
    }


def _by_status(depths: Sequence[Depth]) -> dict[str, int]:
    sums: Counter[str] = Counter()
    for one in depths:
        sums[one.status] += one.tasks
    return dict(sums)


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


def _states_now(stores: Stores) -> Mapping[TaskType, TypeState]:
    types = [entry.name for entry in stores.catalogue.entries()]
    return states_of(types, stores, _shelves(stores).count())


@lru_cache(maxsize=1)
def _shelves(bound: Stores) -> Shelves:
    """Return the one counter of shelves, shared by requests within a moment."""
    return Shelves(bound)


def _state_as_json(name: TaskType, state: TypeState) -> dict[str, Any]:
    count, oldest = state.count, state.oldest_wait_seconds
    return {
        "lane": state.lane,
        "waiting": None if count is None else _waiting_by_class(count),
        "shelved": None if state.shelved is None else _by_class(state.shelved),
        "in_flight": None if count is None else count.in_flight,
        "oldest_wait_seconds": None if oldest is None else round(oldest, 3),
        "pauses": None if state.pauses is None else [pause_as_json(one) for one in state.pauses],
        "worker": _worker(name, state),
    }


def _waiting_by_class(count: LaneCount) -> dict[str, int]:
    return _by_class(count.classes) | {_ALONE: count.alone.waiting}


def _by_class(counts: Mapping[Priority, ClassCount]) -> dict[str, int]:
    return {str(PRIORITY_NAMES[one]): counts[one].waiting for one in sorted(Priority, reverse=True)}


def _worker(name: TaskType, state: TypeState) -> dict[str, Any]:
    taken_at = None if state.count is None else state.count.taken_at_ms
    view: dict[str, Any] = {
        "state": state.worker,
        "taken_at": None if taken_at is None else moment(taken_at),
    }
    if state.worker is WorkerState.ABSENT:
        view["detail"] = (
            f"tasks wait, but for {TAKES_WITHIN.total_seconds():.0f} s no process has taken any;"
            f" the log of worker-{name} says whether it starts"
        )
    return view
