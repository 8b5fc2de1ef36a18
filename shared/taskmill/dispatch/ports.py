"""Ports of dispatch."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Protocol

from taskmill.core.codec import RawEnvelope
from taskmill.core.owed import Cleared, Owed, OwedKey
from taskmill.dispatch.waiting import (
    Delayed,
    DelayOrder,
    ParkAnswer,
    Unshelved,
    UnshelveOrder,
)
from taskmill.lanes.lane import Member


class Parking(Protocol):
    """Parks tasks until a worker for their type is deployed."""

    def park(self, waiting: Sequence[RawEnvelope]) -> Sequence[ParkAnswer]: ...


class Delays(Protocol):
    """Delays tasks until their time."""

    def delay(self, orders: Sequence[DelayOrder]) -> Sequence[Delayed]: ...


class ShelvedRecords(Protocol):
    """Records of tasks that only the ledger keeps because their lines are full."""

    def shelve(self, members: Sequence[Member], *, stays: timedelta) -> None:
        """Let records end after a while, but for what keys need of them.

        A task that the log had before Redis keeps its record for an hour at least: the log may
        deliver its submission again, which would be a new task without it.
        """
        ...

    def unshelve(self, orders: Sequence[UnshelveOrder]) -> Sequence[Unshelved]: ...


class DueSet(Protocol):
    """Everything that must be published at some time."""

    def take(self, *, most: int) -> Sequence[tuple[OwedKey, Owed]]: ...

    def clear(self, published: Sequence[OwedKey]) -> Sequence[Cleared]: ...

    def forget_expired(self, *, most: int) -> int: ...
