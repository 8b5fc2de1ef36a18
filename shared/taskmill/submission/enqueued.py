"""Requests that stand in a table until they are tasks."""

from collections.abc import Mapping
from datetime import timedelta

from msgspec import Struct

from taskmill.core.refusal import Dismissal
from taskmill.core.task import DEFAULT_TENANT, Millis, TaskId

HELD_AT_MOST = timedelta(seconds=5)
"""Who holds rows and says nothing for this long holds them no longer."""

MAY_BE_FORGOTTEN = timedelta(minutes=30)
"""A request of this age may have been a task that Redis knows no more: the record of a far one
without a key ends after an hour."""

LEDGER_MAY_LAG = timedelta(minutes=10)
"""What the log took in so long, Redis knows."""

OCTETS_HELD = 8 * 1024 * 1024
"""So much is read, admitted and published well before what is held is lost."""

LARGEST_REQUEST = 1024 * 1024
"""What has more octets is no request: of it only the size is read."""

TYPE_MAY_COME = timedelta(minutes=10)
"""So long after it was parked, a request whose type is deployed at last is taken up again."""


class Enqueue(Struct, frozen=True, kw_only=True):
    """A request to be kept; its word makes it the same submission whenever it is read."""

    task_id: TaskId
    submission: str
    request: bytes
    """The JSON that POST /v1/tasks takes."""

    tenant: str = DEFAULT_TENANT


class Parked(Struct, frozen=True, kw_only=True):
    """Why a request never becomes a task, in the words of a refusal."""

    reason: str
    detail: str
    pointer: str | None
    at_ms: Millis


class Enqueued(Struct, frozen=True, kw_only=True):
    """A row; its number is its place in the line."""

    number: int
    tenant: str
    task_id: TaskId
    submission: str
    request: bytes | None
    """As it was given: whoever reads it decides whether it is a request. None in lists, and when it
    is too large to be one."""

    octets: int
    created_at_ms: Millis
    parked: Parked | None = None
    discarded: Dismissal | None = None
    """Who dealt with a refused one, and when."""
    may_be_forgotten: bool = False
    """So old that Redis may have forgotten its task, if it was one."""


class LookBack(Struct, frozen=True, kw_only=True):
    """What the ledger has of submissions, and how far it knew the log at that moment."""

    found: frozenset[str]
    applied: Mapping[tuple[str, int], int]
    recent: frozenset[tuple[str, int]]
    """The partitions of which it lacks nothing but the last minutes."""

    def is_complete(self, ends: Mapping[tuple[str, int], int]) -> bool:
        """Tell whether what was not found is not in the log either, or is known to Redis."""
        return all(
            place in self.recent or self.applied.get(place, 0) >= end for place, end in ends.items()
        )


class Backlog(Struct, frozen=True, kw_only=True):
    """How many wait to become tasks, and since when the oldest does."""

    waiting: int
    parked: int
    oldest_at_ms: Millis | None
