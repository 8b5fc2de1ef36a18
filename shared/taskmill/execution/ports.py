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
"""What a call comes to: its end, or what must be awaited for it."""


class Crew(Protocol):
    """Those who perform side by side; a ticket is never given twice.

    A call that is abandoned need not report its end.
    """

    def start(self, call: Callable[[], Performed]) -> int: ...

    def ended(self, *, within: timedelta) -> Sequence[Ended]: ...

    def abandon(self, ticket: int) -> None: ...

    def strays(self, *, within: timedelta) -> int:
        """Return how many abandoned calls still run; wait for them, but no longer than *within*."""
        ...


class Errands(Protocol):
    """What is done beside the caller; an errand under way is not started twice."""

    def start(self, name: str, errand: Callable[[], int]) -> Future[int]: ...
