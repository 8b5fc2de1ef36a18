"""What a run of tasks needs of the world, and a task while it runs."""

import logging
from collections.abc import Callable, Mapping, MutableMapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

from msgspec import Raw, Struct

from taskmill.core.log import Position
from taskmill.core.pointers import Pointer
from taskmill.core.ports import Bus, Chance, Clock
from taskmill.core.task import Envelope, Millis, TaskId, TaskType
from taskmill.core.timing import expires_ms
from taskmill.execution.lease import Lease, Loss
from taskmill.execution.outcome import Attempt
from taskmill.execution.pace import USUAL, Pace
from taskmill.execution.ports import Crew, Leases, Performed

_log = logging.getLogger("taskmill.task")


class Shop(Struct, frozen=True, kw_only=True):
    leases: Leases
    bus: Bus
    crew: Crew
    clock: Clock
    chance: Chance
    process: str
    concurrency: int
    longest: timedelta
    """No attempt runs longer than this, whatever its task says."""
    remaining: Callable[[], timedelta]
    pace: Pace = USUAL
    is_leaving: Callable[[], bool] = lambda: False
    """True when this process is to end: nothing is begun, and what runs ends soon."""


class Running(Struct, kw_only=True):
    attempt: Attempt
    position: Position
    timeout: timedelta
    deadline_ms: int
    ahead_ms: int
    """How far the hot store's clock, which every process can see, is ahead of ours."""

    untold: tuple[Loss, ...]
    cancel_requested: bool = False
    is_lost: bool = False
    is_told: bool = False

    @property
    def expired_ms(self) -> Millis | None:
        """Return until when it had to begin, when this is its first start and comes too late."""
        latest = expires_ms(self.attempt.envelope)
        is_first = self.attempt.losses == 0
        is_late = latest is not None and self.attempt.started_at_ms > latest
        return latest if is_first and is_late else None

    @property
    def lease(self) -> Lease:
        envelope = self.attempt.envelope
        return Lease(
            id=envelope.id,
            generation=envelope.generation,
            turn=envelope.turn,
            token=self.attempt.token,
        )


class Task:
    """What a handler is told about the task that it performs."""

    __slots__ = ("_payload", "_running")

    def __init__(self, running: Running, payload: Raw | None = None) -> None:
        self._running = running
        self._payload = payload

    @property
    def id(self) -> TaskId:
        return self._envelope.id

    @property
    def type(self) -> TaskType:
        return self._envelope.type

    @property
    def payload(self) -> Raw:
        """The payload as it was sent or uploaded."""
        return self._envelope.payload if self._payload is None else self._payload

    @property
    def payload_ref(self) -> Pointer | None:
        """Where the payload was uploaded to, if it was too large to be sent."""
        return self._envelope.payload_ref

    def with_payload(self, content: bytes) -> "Task":
        """Return the same task with the payload that was fetched for it."""
        return Task(self._running, Raw(content))

    @property
    def metadata(self) -> Mapping[str, str]:
        return self._envelope.metadata

    @property
    def attempt(self) -> int:
        """The number of this try; the first is 1."""
        return self._envelope.attempt

    @property
    def max_attempts(self) -> int:
        return self._envelope.max_attempts

    @property
    def generation(self) -> int:
        return self._envelope.generation

    @property
    def losses(self) -> int:
        """How often the platform died under this task."""
        return self._running.attempt.losses

    @property
    def idempotency_token(self) -> str:
        """The same in every attempt and redrive of one submission: hand it to what you call."""
        return f"{self.id}-{self._envelope.submitted or self.generation}"

    @property
    def started_at(self) -> datetime:
        """When this attempt began, by the one clock that all processes share."""
        return datetime.fromtimestamp(self._running.attempt.started_at_ms / 1000, UTC)

    @property
    def deadline(self) -> datetime:
        """When this attempt is cut off."""
        return datetime.fromtimestamp(self._running.deadline_ms / 1000, UTC)

    @property
    def cancelled(self) -> bool:
        """True once the task was cancelled, or another process runs it: nobody waits for more."""
        return self._running.cancel_requested or self._running.is_lost

    @property
    def logger(self) -> logging.LoggerAdapter[logging.Logger]:
        """A logger whose lines name the task."""
        return _NamingLogger(_log, named(self._envelope))

    @property
    def _envelope(self) -> Envelope:
        return self._running.attempt.envelope


Perform: TypeAlias = Callable[[Task], Performed]


class _NamingLogger(logging.LoggerAdapter[logging.Logger]):
    def process(
        self, msg: object, kwargs: MutableMapping[str, Any]
    ) -> tuple[object, MutableMapping[str, Any]]:
        kwargs["extra"] = {**(self.extra or {}), **(kwargs.get("extra") or {})}
        return msg, kwargs


def named(envelope: Envelope) -> dict[str, object]:
    """Return the fields by which every log line names a task."""
    return {"task_id": envelope.id, "task_type": envelope.type, "attempt": envelope.attempt}
