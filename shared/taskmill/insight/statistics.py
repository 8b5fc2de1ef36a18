"""Queue depths, waits and throughput."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from taskmill.core.task import Millis, Priority, Status, TaskType
from taskmill.core.topics import Reader
from taskmill.insight.types import TypeState
from taskmill.submission.enqueued import Backlog
from taskmill.submission.outbox import OutboxBacklog


class Depth(Struct, frozen=True, kw_only=True):
    """How many tasks of a type and priority are in a status, and how many of them wait in line."""

    type: TaskType
    status: Status
    priority: Priority
    tasks: int
    in_line: int
    """Queued tasks and those whose time has come: their status changes when they start."""

    waits_since_ms: Millis | None
    """Since when the oldest of them has been queued."""


class Figures(Struct, frozen=True, kw_only=True):
    """The ledger's figures, computed in bounded time."""

    depths: Sequence[Depth]
    is_complete: bool
    """False when not everything could be counted: the figures are then lower bounds."""

    facts_of_last_minute: Mapping[tuple[TaskType | None, str], int]
    """By type and kind; facts written by older versions have no type."""

    as_of_ms: Millis | None


class Statistics(Struct, frozen=True, kw_only=True):
    figures: Figures
    lags: Mapping[Reader, int]
    """How many log records each reading function has yet to read."""

    backlog: Backlog
    """Enqueued requests that have not become tasks."""

    outbox: OutboxBacklog
    states: Mapping[TaskType, TypeState]
    """Of the deployed types; all others are reported under one name."""

    taken_at_ms: Millis
