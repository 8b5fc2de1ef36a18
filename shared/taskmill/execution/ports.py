"""Ports of execution: leases and an executor."""

from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from datetime import timedelta
from typing import Any, Protocol, TypeAlias

from msgspec import Struct

from taskmill.core.task import TaskType
from taskmill.execution.lease import Beat, Claim, ClaimAnswer, Lease, SettleAnswer, Settlement
from taskmill.execution.outcome import End


class Leases(Protocol):
    """The right to run a turn."""

    def claim(self, claims: Sequence[Claim]) -> Sequence[ClaimAnswer]: ...

    def extend(self, leases: Sequence[Lease]) -> Sequence[Beat]: ...

    def settle(self, settlements: Sequence[Settlement]) -> Sequence[SettleAnswer]: ...


class Ended(Struct, frozen=True):
    ticket: int
    end: End


Performed: TypeAlias = End | Coroutine[Any, Any, End]
"""The outcome of a call, or an awaitable for it."""


class Executor(Protocol):
    """Runs calls concurrently; a ticket is never used twice.

    The end of an abandoned call need not be reported.
    """

    def start(self, call: Callable[[], Performed]) -> int: ...

    def ended(self, *, within: timedelta) -> Sequence[Ended]: ...

    def abandon(self, ticket: int) -> None: ...

    def nudge(self) -> None:
        """End the present wait for an end, or the next one; another thread may call it."""
        ...

    def strays(self, *, within: timedelta) -> int:
        """Return how many abandoned calls still run, after waiting for them up to *within*."""
        ...


class Bell(Protocol):
    """Hears when the lane rings for a process that promised to ask again."""

    @property
    def patience(self) -> timedelta:
        """How long a process in which nothing runs waits for a ring."""
        ...

    def listen(self, task_type: TaskType, partition: int) -> bool:
        """Let a ring end the executor's wait; return whether there can be one."""
        ...

    def has_rung(self) -> bool:
        """Return whether it has rung since `clear`."""
        ...

    def clear(self) -> None: ...

    def rest(self) -> None:
        """Stop listening: the process goes."""
        ...


class Deaf:
    """A bell that never rings: where nothing waits, a process goes at once."""

    patience = timedelta()

    def listen(self, _task_type: TaskType, _partition: int) -> bool:
        return False

    def has_rung(self) -> bool:
        return False

    def clear(self) -> None:
        pass

    def rest(self) -> None:
        pass


class BackgroundJobs(Protocol):
    """Runs jobs in the background; a running job is not started twice."""

    def start(self, name: str, background_job: Callable[[], int]) -> Future[int]: ...
