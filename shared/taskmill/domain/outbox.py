"""What waits in the outbox: tasks that were accepted while the log was away."""

from dataclasses import dataclass

from taskmill.domain.task import TaskId

OUTBOX_CAP = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsent:
    """A row that still has to be published; its number is its place in the line."""

    number: int
    envelope: bytes
    """As it was given: a newer version may have written it."""


@dataclass(frozen=True, slots=True)
class Lost:
    """The log will never take it: what was accepted runs only if it is asked for again."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ParkedTask:
    """A row that was put aside, because the log will never take it."""

    task_id: TaskId
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxBacklog:
    """How many wait for the log, and how many it will never take."""

    waiting: int
    parked: int
