"""Queue depths, waits and throughput."""

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from taskmill.core.task import Millis, Status, TaskType
from taskmill.core.topics import Reader
from taskmill.submission.enqueued import Backlog
from taskmill.submission.outbox import OutboxBacklog


class Depth(Struct, frozen=True, kw_only=True):
    """How many tasks of a type are in a status, and how many of them wait for their worker only."""

    type: TaskType
    status: Status
    tasks: int
    in_line: int
    """Those that are queued, or whose time has come: their status changes when they begin."""

    waits_since_ms: Millis | None
    """Since when the first of them stands in line."""


class Figures(Struct, frozen=True, kw_only=True):
    """What the ledger can say in bounded time."""

    depths: Sequence[Depth]
    is_complete: bool
    """False when there was more than could be looked at: then there are at least so many."""

    facts_of_last_minute: Mapping[tuple[TaskType | None, str], int]
    """By type and kind; what an older version of this code wrote has no type."""

    as_of_ms: Millis | None


class Statistics(Struct, frozen=True, kw_only=True):
    figures: Figures
    lags: Mapping[Reader, int]
    """How many records of the log wait in front of each function that reads it."""

    backlog: Backlog
    """What was enqueued and is no task."""

    outbox: OutboxBacklog
    types: Collection[TaskType]
    """Those that are deployed; what happens to others is told under one word."""

    taken_at_ms: Millis
