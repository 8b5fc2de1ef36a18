"""What must be published at a time."""

from collections.abc import Sequence
from typing import Protocol

from taskmill.domain.admission import Cleared, Owed, OwedKey


class DueSet(Protocol):
    """Everything that must be published at a time."""

    def take(self, *, most: int) -> Sequence[tuple[OwedKey, Owed]]: ...

    def clear(self, published: Sequence[OwedKey]) -> Sequence[Cleared]: ...

    def forget_expired(self, *, most: int) -> int: ...
