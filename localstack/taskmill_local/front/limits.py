"""What the front grants a client: sizes and times, the platform's where it publishes one."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    head_bytes: int = 10_240
    """Request line and headers together."""

    body_bytes: int = 10 * 1024 * 1024
    chunks: int = 20_000
    """Of one body: chunks of a byte cost a thousand times what they carry."""

    chunks_at_once: int = 512
    """So many are taken before others have their turn."""

    event_bytes: int = 6 * 1024 * 1024
    """Lambda's own limit, measured on the event's JSON: binary bodies grow by a third in it."""

    read_ahead_bytes: int = 64 * 1024
    """How much of the next requests is taken in while one is being answered."""

    connections: int = 1_000
    head_time: timedelta = timedelta(seconds=10)
    read_time: timedelta = timedelta(seconds=10)
    """The longest silence within a body."""

    body_time: timedelta = timedelta(seconds=30)
    idle_time: timedelta = timedelta(seconds=60)
    """Between two requests; the platform grants 350 s, a laptop has fewer sockets."""

    answer_time: timedelta = timedelta(seconds=30)
    write_time: timedelta = timedelta(seconds=30)
    """How long a client may leave its answer unread."""

    linger_time: timedelta = timedelta(seconds=2)
    """How long a refused client's bytes are still thrown away, so that it can read why."""


PLATFORM_LIMITS = Limits()
