"""How statistics look to a client."""

from typing import Any, Final

from functions.gateway.presenter import moment
from taskmill.domain.statistics import Figures, Statistics
from taskmill.domain.task import Status

_KINDS: Final = {
    "submitted": "TaskSubmitted",
    "succeeded": "TaskSucceeded",
    "retried": "TaskDeferred",
    "died": "TaskDied",
    "cancelled": "TaskCancelled",
    "lost": "AttemptLost",
}


def statistics_as_json(told: Statistics) -> dict[str, Any]:
    figures = told.figures
    running = [one.tasks for one in figures.depths if one.status is Status.RUNNING]
    return {
        "as_of": moment(figures.as_of_ms) if figures.as_of_ms is not None else None,
        "types": _types(told),
        "in_flight": sum(running),
        "is_complete": figures.is_complete,
        "enqueued": _enqueued(told),
        "last_minute": _last_minute(figures),
        "lag": {reader.name: lag for reader, lag in told.lags.items()},
    }


def _types(told: Statistics) -> dict[str, Any]:
    types: dict[str, Any] = {}
    for depth in told.figures.depths:
        shown = types.setdefault(depth.type, {"depth": {}, "oldest_wait_seconds": None})
        shown["depth"][depth.status] = depth.tasks
        if depth.status is Status.QUEUED:
            waited = max(told.taken_at_ms - depth.eldest_ms, 0) / 1000
            shown["oldest_wait_seconds"] = round(waited, 3)
    return dict(sorted(types.items()))


def _enqueued(told: Statistics) -> dict[str, Any]:
    backlog, waited = told.backlog, None
    if backlog.oldest_at_ms is not None:
        waited = round(max(told.taken_at_ms - backlog.oldest_at_ms, 0) / 1000, 3)
    return {
        "waiting": backlog.waiting,
        "oldest_wait_seconds": waited,
        "parked": backlog.parked,
    }


def _last_minute(figures: Figures) -> dict[str, int]:
    return {name: figures.facts_of_last_minute.get(kind, 0) for name, kind in _KINDS.items()}
