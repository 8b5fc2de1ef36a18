"""What is kept for a time only."""

from datetime import timedelta
from typing import Protocol

from taskmill.domain.retention import Kept


class Archive(Protocol):
    """What is kept for a time after its end."""

    def forget(self, kind: Kept, *, older_than: timedelta, most: int) -> int: ...

    def make_months(self, *, ahead: int) -> int: ...
