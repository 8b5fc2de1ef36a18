"""Enqueued requests, kept in a table until they become tasks."""

from collections.abc import Mapping
from datetime import timedelta

from msgspec import Struct

from taskmill.core.refusal import Dismissal
from taskmill.core.task import DEFAULT_TENANT, Millis, TaskId

HELD_AT_MOST = timedelta(seconds=5)
"""A process that holds rows and stays silent for this long loses them."""

MAY_BE_FORGOTTEN = timedelta(minutes=30)
"""A request this old may have been a task that Redis no longer knows: the record of a far one
without a key expires after an hour."""

LEDGER_MAY_LAG = timedelta(minutes=10)
"""Redis knows everything that the log accepted within this time."""

OCTETS_HELD = 8 * 1024 * 1024
"""How much can be read, admitted and published well within the hold time."""

LARGEST_REQUEST = 1024 * 1024
"""A larger row is not a request: only its size is read."""

TYPE_MAY_COME = timedelta(minutes=10)
"""How long after parking a request is retried once its type is deployed."""


class Enqueue(Struct, frozen=True, kw_only=True):
    """A request to store; its nonce makes it the same submission whenever it is read."""

    task_id: TaskId
    submission: str
    request: bytes
    """The JSON that POST /v1/tasks accepts."""

    tenant: str = DEFAULT_TENANT


class ParkedRequest(Struct, frozen=True, kw_only=True):
    """Why a request never becomes a task: its refusal."""

    reason: str
    detail: str
    pointer: str | None
    at_ms: Millis


class Enqueued(Struct, frozen=True, kw_only=True):
    """A row; its number is its place in the queue."""

    number: int
    tenant: str
    task_id: TaskId
    submission: str
    request: bytes | None
    """As received: the reader decides whether it is a request. None in lists, and when it is too
    large to be one."""

    octets: int
    created_at_ms: Millis
    parked: ParkedRequest | None = None
    discarded: Dismissal | None = None
    """Who dealt with a refused request, and when."""
    may_be_forgotten: bool = False
    """So old that Redis may have forgotten its task, if there was one."""


class LookBack(Struct, frozen=True, kw_only=True):
    """What the ledger has of submissions, and how much of the log it knew then."""

    found: frozenset[str]
    applied: Mapping[tuple[str, int], int]
    recent: frozenset[tuple[str, int]]
    """The partitions that are complete except for the last minutes."""

    def is_complete(self, ends: Mapping[tuple[str, int], int]) -> bool:
        """Return whether a missing submission is not in the log either, or is known to Redis."""
        return all(
            place in self.recent or self.applied.get(place, 0) >= end for place, end in ends.items()
        )


class Backlog(Struct, frozen=True, kw_only=True):
    """How many requests wait, and since when the oldest does."""

    waiting: int
    parked: int
    oldest_at_ms: Millis | None
