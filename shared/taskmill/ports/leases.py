"""Who may run a task."""

from collections.abc import Sequence
from typing import Protocol

from taskmill.domain.lease import Beat, Claim, ClaimAnswer, Lease, SettleAnswer, Settlement


class Leases(Protocol):
    """The right to run a turn."""

    def claim(self, claims: Sequence[Claim]) -> Sequence[ClaimAnswer]: ...

    def extend(self, leases: Sequence[Lease]) -> Sequence[Beat]: ...

    def settle(self, settlements: Sequence[Settlement]) -> Sequence[SettleAnswer]: ...
