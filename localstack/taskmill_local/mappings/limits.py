"""What a mapping may hold, how long it waits and how it backs off."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    event_bytes: int = 6 * 1024 * 1024
    """The platform's ceiling for one event, base64 and all."""

    buffer_bytes: int = 16 * 1024 * 1024
    """A partition that holds more is not read further until half of it is gone."""

    buffer_records: int = 20_000
    first_delay: timedelta = timedelta(milliseconds=100)
    longest_delay: timedelta = timedelta(seconds=5)
    commit_every: timedelta = timedelta(milliseconds=100)

    gather: timedelta = timedelta(milliseconds=10)
    """How long the next batch gathers beside the latest in flight, unless it is full."""

    revoke_patience: timedelta = timedelta(seconds=2)
    """How long a partition that goes to another consumer waits for its batch in flight."""

    def delay_after(self, failures: int) -> timedelta:
        """Return the wait after that many failures in a row."""
        doublings = min(failures - 1, 32)  # the ceiling is long reached by then
        return min(self.first_delay * (1 << doublings), self.longest_delay)
