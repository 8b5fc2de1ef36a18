"""What waits in the outbox: tasks that were accepted while the log was away."""

from dataclasses import dataclass

OUTBOX_CAP = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsent:
    """A row that still has to be published; its number is its place in the line."""

    number: int
    envelope: bytes
    """As it was given: a newer version may have written it."""
