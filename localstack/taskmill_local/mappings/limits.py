"""A mapping's buffer limits, waiting times and back-off."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    event_bytes: int = 6 * 1024 * 1024
    """The platform's limit for one event, including base64."""

    buffer_bytes: int = 16 * 1024 * 1024
    """A partition with more buffered bytes is paused until half of them are gone."""

    buffer_records: int = 20_000
    first_delay: timedelta = timedelta(milliseconds=100)
    longest_delay: timedelta = timedelta(seconds=5)
    commit_every: timedelta = timedelta(milliseconds=100)

    gather: timedelta = timedelta(milliseconds=10)
    """How long the next batch gathers records while one is in flight, unless it is full."""

    revoke_patience: timedelta = timedelta(seconds=2)
    """How long a revoked partition waits for its batch in flight."""

    def delay_after(self, failures: int) -> timedelta:
        """Return the delay after that many consecutive failures."""
        doublings = min(failures - 1, 32)  # the cap is long reached by then
        return min(self.first_delay * (1 << doublings), self.longest_delay)
