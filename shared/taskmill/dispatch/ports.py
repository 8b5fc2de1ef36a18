"""Ports of dispatch."""

from collections.abc import Sequence
from typing import Protocol

from taskmill.core.codec import RawEnvelope
from taskmill.core.owed import Cleared, Owed, OwedKey
from taskmill.dispatch.waiting import Delayed, DelayOrder, ParkAnswer


class Parking(Protocol):
    """Parks tasks until a worker for their type is deployed."""

    def park(self, waiting: Sequence[RawEnvelope]) -> Sequence[ParkAnswer]: ...


class Delays(Protocol):
    """Delays tasks until their time."""

    def delay(self, orders: Sequence[DelayOrder]) -> Sequence[Delayed]: ...


class DueSet(Protocol):
    """Everything that must be published at some time."""

    def take(self, *, most: int) -> Sequence[tuple[OwedKey, Owed]]: ...

    def clear(self, published: Sequence[OwedKey]) -> Sequence[Cleared]: ...

    def forget_expired(self, *, most: int) -> int: ...
