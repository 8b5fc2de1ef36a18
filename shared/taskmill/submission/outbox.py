"""The outbox: tasks accepted while the log was unavailable."""

from msgspec import Struct

from taskmill.core.task import TaskId

OUTBOX_CAP = 100_000


class Unsent(Struct, frozen=True, kw_only=True):
    """An unpublished row; its number is its place in the queue."""

    number: int
    envelope: bytes
    """As received: a newer version may have written it."""


class Lost(Struct, frozen=True):
    """The log will never accept it: the accepted task runs only if it is submitted again."""

    why: str


class ParkedTask(Struct, frozen=True, kw_only=True):
    """A row that was set aside because the log will never accept it."""

    task_id: TaskId
    why: str


class OutboxBacklog(Struct, frozen=True, kw_only=True):
    """How many rows wait for the log, and how many it will never accept."""

    waiting: int
    parked: int
