"""The front's limits for clients: sizes and times, the platform's own where published."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    head_bytes: int = 10_240
    """Request line and headers together."""

    body_bytes: int = 10 * 1024 * 1024
    chunks: int = 20_000
    """Per body, because one-byte chunks cost a thousand times their content."""

    chunks_at_once: int = 512
    """Chunks read before other connections get their turn."""

    event_bytes: int = 6 * 1024 * 1024
    """Lambda's limit for the event's JSON, in which binary bodies grow by a third."""

    read_ahead_bytes: int = 64 * 1024
    """How much of the next requests is read while one is being processed."""

    connections: int = 1_000
    head_time: timedelta = timedelta(seconds=10)
    read_time: timedelta = timedelta(seconds=10)
    """The longest silence within a body."""

    body_time: timedelta = timedelta(seconds=30)
    idle_time: timedelta = timedelta(seconds=60)
    """Between two requests; the platform allows 350 s, but a laptop has fewer sockets."""

    answer_time: timedelta = timedelta(seconds=30)
    write_time: timedelta = timedelta(seconds=30)
    """How long a client may leave its response unread."""

    linger_time: timedelta = timedelta(seconds=2)
    """How long a refused client's data is discarded so that it can read the refusal."""


PLATFORM_LIMITS = Limits()
