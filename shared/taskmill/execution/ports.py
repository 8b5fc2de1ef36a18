"""Ports of execution: leases and an executor."""

from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from datetime import timedelta
from typing import Any, Protocol, TypeAlias

from msgspec import Struct

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

    def strays(self, *, within: timedelta) -> int:
        """Return how many abandoned calls still run, after waiting for them up to *within*."""
        ...


class BackgroundJobs(Protocol):
    """Runs jobs in the background; a running job is not started twice."""

    def start(self, name: str, background_job: Callable[[], int]) -> Future[int]: ...
