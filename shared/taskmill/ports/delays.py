"""How tasks wait for their time."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Protocol

from taskmill.domain.delay import Delayed, DelayOrder, Expiry
from taskmill.domain.projection import Row


class Delays(Protocol):
    """Lets tasks wait for their time."""

    def delay(self, orders: Sequence[DelayOrder]) -> Sequence[Delayed]: ...


class FarTasks(Protocol):
    """The tasks that the ledger alone keeps until their time comes near."""

    def coming(self, *, within: timedelta) -> Iterable[Sequence[Row]]:
        """Give those whose time comes so near, the next ones first."""
        ...

    def leave(self, rows: Sequence[Row]) -> None:
        """Keep them no longer as such, where they are still as they were seen."""
        ...


class Expiries(Protocol):
    """Until when tasks must have begun, as the ledger has it."""

    def past(self) -> Iterable[Sequence[Expiry]]:
        """Give those that are over and whose tasks still wait there, the longest ones first."""
        ...

    def leave(self, expiries: Sequence[Expiry]) -> None:
        """Keep them no longer, where they are still as they were seen."""
        ...
