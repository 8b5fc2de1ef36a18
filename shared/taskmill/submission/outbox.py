"""The outbox: tasks accepted while the log was down."""

from msgspec import Struct

from taskmill.core.task import TaskId

OUTBOX_CAP = 100_000


class Unsent(Struct, frozen=True, kw_only=True):
    """A row that still has to be published; its number is its place in the line."""

    number: int
    envelope: bytes
    """As it was given: a newer version may have written it."""


class Lost(Struct, frozen=True):
    """The log will never take it: what was accepted runs only if it is asked for again."""

    why: str


class ParkedTask(Struct, frozen=True, kw_only=True):
    """A row that was put aside, because the log will never take it."""

    task_id: TaskId
    why: str


class OutboxBacklog(Struct, frozen=True, kw_only=True):
    """How many wait for the log, and how many it will never take."""

    waiting: int
    parked: int
