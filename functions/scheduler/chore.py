"""Something that the scheduler does again and again."""

from collections.abc import Callable
from datetime import timedelta

from msgspec import Struct


class Chore(Struct, frozen=True, kw_only=True):
    """Safe beside the same chore of another scheduler, and after a death at any line of it."""

    name: str
    every: timedelta | None = None
    """None: at every tick."""

    do: Callable[[], int]
    """Does what is to be done now, and returns how much that was."""

    is_slow: bool = False
    """True for what may take longer than a tick: it is done in a thread of its own, with
    connections of its own. What asks PostgreSQL is slow, since PostgreSQL may hang."""
