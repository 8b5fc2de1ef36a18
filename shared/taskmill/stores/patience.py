"""How long a process waits for each store, and which stores a guard protects."""

from datetime import timedelta
from typing import Final

from msgspec import Struct


class Patience(Struct, frozen=True, kw_only=True):
    """Time limits for store calls; None leaves the limit to the adapter."""

    redis: timedelta | None = None
    kafka: timedelta | None = None
    postgres: timedelta | None = None
    s3: timedelta = timedelta(seconds=2)
    s3_tries: int = 1
    guarded: frozenset[str] = frozenset({"s3"})
    """The stores whose calls fail at once while the store is known to be unavailable."""

    holds_rows: bool = False
    """True for work that queries PostgreSQL while it holds row locks, on a second connection."""


USUAL: Final = Patience()

OF_A_REQUEST: Final = Patience(
    redis=timedelta(seconds=1),
    kafka=timedelta(seconds=2),
    postgres=timedelta(seconds=5),
    guarded=frozenset({"kafka", "redis", "postgres", "s3"}),
)
"""The longest wait of a request for an unavailable store; then the guard spares the others."""

OF_A_WORKER: Final = Patience(s3=timedelta(seconds=10), s3_tries=3, guarded=frozenset())
"""A worker has more time for the bucket than a request."""

BRIEF: Final = Patience(redis=timedelta(seconds=1), kafka=timedelta(seconds=2))
"""In total well below the time that rows may be locked, and the lateness a fire may have."""

HOLDING: Final = Patience(holds_rows=True)

OF_ENDPOINTS: Final = Patience(redis=timedelta(seconds=1), guarded=frozenset({"redis"}))
"""The longest wait of a webhook for an unavailable Redis; it is then sent anyway."""
