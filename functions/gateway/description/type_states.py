"""Describes the present state of a type: what waits, what is in flight, its pauses, its worker."""

from typing import Annotated, Any, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from functions.gateway.description.answers import Count, Moment
from functions.gateway.description.pauses import Pause
from taskmill.insight.types import LaneState, WorkerState


class Waiting(Struct):
    """Tasks in line, by priority."""

    critical: Count
    high: Count
    normal: Count
    low: Count
    alone: Annotated[
        Count,
        Meta(
            description="Of any priority; each runs alone, because it may have ended its process."
        ),
    ]


class OnShelves(Struct):
    """Tasks that wait in the ledger only, because their lines are full, by priority."""

    critical: Count
    high: Count
    normal: Count
    low: Count


class WorkerNow(Struct, kw_only=True):
    """Whether the worker takes tasks, as far as its lane knows.

    - `takes`: a process took within the last 10 s.
    - `busy`: none did, but tasks are in flight.
    - `idle`: nothing that may start has waited for 10 s.
    - `absent`: tasks wait and no process takes them; the worker does not start, or is not woken.
    - `unknown`: the lane is not live.
    """

    state: WorkerState
    taken_at: Annotated[
        Moment | None, Meta(description="When a process that has not ended took last.")
    ]
    detail: Annotated[str, Meta(description="Only with `absent`.")] | UnsetType = UNSET


class TypeNow(Struct):
    """What the lane holds now; null where a store that knows it is unavailable."""

    lane: Annotated[
        LaneState,
        Meta(description="`rebuilding`: Redis lost it, and it is filled from the ledger."),
    ]
    waiting: Waiting | None
    shelved: Annotated[
        OnShelves | None,
        Meta(
            description="Beside those that are `waiting`; null while PostgreSQL is unavailable."
            " Of more than 2,000,000 of all types the rest is not counted."
        ),
    ]
    in_flight: Annotated[
        Count | None, Meta(description="Taken by a worker, and not yet ended in the log.")
    ]
    oldest_wait_seconds: Annotated[
        float | None, Meta(description="In line or on a shelf; null if none waits.")
    ]
    pauses: Annotated[
        list[Pause] | None, Meta(description="That of everything, and that of the type.")
    ]
    worker: WorkerNow


A_BUSY_TYPE: Final[dict[str, Any]] = {
    "lane": "live",
    "waiting": {"critical": 0, "high": 0, "normal": 3, "low": 0, "alone": 0},
    "shelved": {"critical": 0, "high": 0, "normal": 0, "low": 0},
    "in_flight": 2,
    "oldest_wait_seconds": 0.25,
    "pauses": [],
    "worker": {"state": "takes", "taken_at": "2026-11-06T21:20:00.125Z"},
}
