"""The present state of each type: what waits, what is in flight, its pauses, its worker."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from enum import StrEnum
from typing import Final, Protocol

from msgspec import Struct

from taskmill.core.errors import StoreUnavailable
from taskmill.core.owed import Cold
from taskmill.core.ports import Clock
from taskmill.core.task import Millis, TaskType
from taskmill.core.time import in_ms
from taskmill.insight.shelves import ClassCounts, of_type, oldest
from taskmill.lanes.lane import LaneCount
from taskmill.lanes.pauses import PauseStores, pauses
from taskmill.lanes.ports import Lanes
from taskmill.lanes.rules import EVERYTHING, PausedRule, key_of
from taskmill.ledger.ports import ShelfCounts

TAKES_WITHIN: Final = timedelta(seconds=10)
"""A process that runs takes far more often, and one that is woken starts sooner."""


class LaneState(StrEnum):
    LIVE = "live"
    REBUILDING = "rebuilding"
    """Redis lost it: what waits is put back from the ledger."""
    UNKNOWN = "unknown"
    """Redis is unavailable."""


class WorkerState(StrEnum):
    TAKES = "takes"
    """A process took within the last seconds."""
    BUSY = "busy"
    """No process has taken lately, but something is in flight."""
    IDLE = "idle"
    """Nothing waits that may start, so none is needed."""
    ABSENT = "absent"
    """Something waits, and nobody takes it: the worker does not start, or is not woken."""
    UNKNOWN = "unknown"


class TypeState(Struct, frozen=True, kw_only=True):
    lane: LaneState
    count: LaneCount | None
    """What the lane holds; None unless it is live."""

    shelved: ClassCounts | None
    """What waits in the ledger only; None while it is unavailable."""

    worker: WorkerState
    pauses: Sequence[PausedRule] | None
    """Its own pause and that of everything; None while the ledger is unavailable."""

    at_ms: Millis

    @property
    def oldest_wait_seconds(self) -> float | None:
        """Return how long the oldest task has waited, in line or on a shelf; None if none waits."""
        since = earliest(None if self.count is None else waits_since(self.count), self.shelved)
        return None if since is None else max(self.at_ms - since, 0) / 1000

    @property
    def is_noteworthy(self) -> bool:
        """Return whether there is more to say than that nothing waits and nothing runs."""
        count = self.count
        return (
            count is None
            or count.in_flight > 0
            or earliest(waits_since(count), self.shelved) is not None
            or bool(self.pauses)
        )


class TypesStores(PauseStores, Protocol):
    """Ports for looking at types."""


def states_of(
    types: Sequence[TaskType], stores: TypesStores, shelved: ShelfCounts | None
) -> Mapping[TaskType, TypeState]:
    """Return the state of each type; what a store that is away would know is unknown."""
    counts, known_pauses = _counts(types, stores.lanes), _pauses(stores)
    return {
        name: _state(name, count, of_type(name, shelved), known_pauses, stores.clock)
        for name, count in zip(types, counts, strict=True)
    }


def waits_since(count: LaneCount) -> Millis | None:
    """Return since when the oldest task in line has waited."""
    orders = [one.oldest_order for one in (*count.classes.values(), count.alone)]
    oldest = min((one for one in orders if one is not None), default=None)
    return None if oldest is None else Millis(oldest // 1000)


def earliest(since: Millis | None, shelved: ClassCounts | None) -> Millis | None:
    """Return since when the oldest task has waited, in line or on a shelf."""
    return min((one for one in (since, oldest(shelved)) if one is not None), default=None)


def _counts(types: Sequence[TaskType], lanes: Lanes) -> Sequence[LaneCount | Cold | None]:
    try:
        return lanes.count(types)
    except StoreUnavailable:
        return [None] * len(types)


def _pauses(stores: PauseStores) -> Sequence[PausedRule] | None:
    try:
        return pauses(stores)
    except StoreUnavailable:
        return None


def _state(
    name: TaskType,
    count: LaneCount | Cold | None,
    shelved: ClassCounts | None,
    known_pauses: Sequence[PausedRule] | None,
    clock: Clock,
) -> TypeState:
    now, keys = clock(), (EVERYTHING, key_of(name))
    own = None if known_pauses is None else [one for one in known_pauses if one.key in keys]
    lane, worker, known = LaneState.LIVE, WorkerState.UNKNOWN, None
    if isinstance(count, LaneCount):
        known, worker = count, worker_of(count, now)
    else:
        lane = LaneState.UNKNOWN if count is None else LaneState.REBUILDING
    return TypeState(lane=lane, count=known, shelved=shelved, worker=worker, pauses=own, at_ms=now)


def worker_of(count: LaneCount, now: Millis) -> WorkerState:
    """Return whether processes of the type take, as far as its lane can know."""
    patient_since = now - in_ms(TAKES_WITHIN)
    if count.taken_at_ms is not None and count.taken_at_ms > patient_since:
        return WorkerState.TAKES
    if count.in_flight:
        return WorkerState.BUSY
    since = waits_since(count)
    if count.paused_until_ms is not None or since is None or since > patient_since:
        return WorkerState.IDLE
    return WorkerState.ABSENT
