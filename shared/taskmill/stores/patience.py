"""How long a process waits for each store, and which of them have a guard before them."""

from datetime import timedelta
from typing import Final

from msgspec import Struct


class Patience(Struct, frozen=True, kw_only=True):
    """None leaves a span to the adapter."""

    redis: timedelta | None = None
    kafka: timedelta | None = None
    postgres: timedelta | None = None
    s3: timedelta = timedelta(seconds=2)
    s3_tries: int = 1
    guarded: frozenset[str] = frozenset({"s3"})
    """The stores that nobody waits for while they are known to be away."""

    holds_rows: bool = False
    """True for work that asks PostgreSQL while it holds rows: those get a connection of their own.
    """


USUAL: Final = Patience()

OF_A_REQUEST: Final = Patience(
    redis=timedelta(seconds=1),
    kafka=timedelta(seconds=2),
    postgres=timedelta(seconds=5),
    guarded=frozenset({"kafka", "redis", "postgres", "s3"}),
)
"""What a request may lose to a store that is away, once: its guard then keeps others from it."""

OF_A_WORKER: Final = Patience(s3=timedelta(seconds=10), s3_tries=3, guarded=frozenset())
"""A worker has more time for the bucket than a request."""

BRIEF: Final = Patience(redis=timedelta(seconds=1), kafka=timedelta(seconds=2))
"""Together well below what the rows of a request are held for, and what a fire may be late."""

HOLDING: Final = Patience(holds_rows=True)

OF_ENDPOINTS: Final = Patience(redis=timedelta(seconds=1), guarded=frozenset({"redis"}))
"""What a webhook may lose to a Redis that is away: it is sent all the same."""
