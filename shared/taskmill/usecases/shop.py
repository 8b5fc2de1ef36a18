"""What a run of tasks needs of the world, and a task while it runs."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias

from taskmill.domain.lease import Lease, Position
from taskmill.domain.outcome import Attempt, End
from taskmill.domain.task import Envelope
from taskmill.ports import Bus, Clock, Crew, Leases

Perform: TypeAlias = Callable[[Envelope], End]

SETTLE_AT_LEAST_EVERY = timedelta(milliseconds=250)
MARGIN = timedelta(seconds=1)
"""What an invocation keeps back for settling and flushing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shop:
    leases: Leases
    bus: Bus
    crew: Crew
    clock: Clock
    process: str
    concurrency: int
    longest: timedelta
    """No attempt runs longer than this, whatever its task says."""
    remaining: Callable[[], timedelta]


@dataclass(slots=True, kw_only=True)
class Running:
    attempt: Attempt
    position: Position
    timeout: timedelta
    deadline_ms: int
    lost: int | None
    is_told: bool = False

    @property
    def lease(self) -> Lease:
        envelope = self.attempt.envelope
        return Lease(
            id=envelope.id,
            generation=envelope.generation,
            turn=envelope.turn,
            token=self.attempt.token,
        )


def named(envelope: Envelope) -> dict[str, object]:
    """Return the fields by which every log line names a task."""
    return {"task_id": envelope.id, "task_type": envelope.type, "attempt": envelope.attempt}
