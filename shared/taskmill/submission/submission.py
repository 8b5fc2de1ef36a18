"""A request for work that passed every check at the door, and what becomes of it."""

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeAlias

from msgspec import Raw, Struct

from taskmill.core.backoff import RetryPolicy
from taskmill.core.ids import keyed_id, unkeyed_id
from taskmill.core.pointers import Pointer
from taskmill.core.task import (
    DEFAULT_TENANT,
    Envelope,
    Millis,
    Status,
    TaskId,
    TaskType,
    Timing,
    about,
)
from taskmill.core.timing import is_delayed
from taskmill.core.view import TaskView


class Submission(Struct, frozen=True, kw_only=True):
    type: TaskType
    payload: Raw
    idempotency_key: str | None
    max_attempts: int
    timeout_seconds: float
    retry: RetryPolicy
    metadata: Mapping[str, str]
    fingerprint: str
    timing: Timing | None = None
    payload_ref: Pointer | None = None

    def as_envelope(self, *, now: Millis, entropy: bytes) -> Envelope:
        """Return the task in line; *entropy* names an unkeyed task and tells requests apart.

        A request that may be read more than once must bring the same entropy each time.
        """
        return self.named(unkeyed_id(now, entropy), submission=entropy.hex(), now=now)

    def named(self, unkeyed: TaskId, *, submission: str, now: Millis) -> Envelope:
        """Return the task in line, under the id of its key if it has one, else as it is named.

        The *submission* tells requests apart: one that comes again must bring its own, with the
        same name and moment.
        """
        key = self.idempotency_key
        return Envelope(
            generation=0,
            id=keyed_id(DEFAULT_TENANT, self.type, key) if key else unkeyed,
            submission=submission,
            type=self.type,
            payload=self.payload,
            fingerprint=self.fingerprint,
            idempotency_key=key,
            created_at_ms=now,
            max_attempts=self.max_attempts,
            timeout_seconds=self.timeout_seconds,
            retry=self.retry,
            metadata=self.metadata,
            timing=self.timing,
            payload_ref=self.payload_ref,
        )


def view_of(envelope: Envelope) -> TaskView:
    """Return what a reader sees of a task that has just been taken."""
    return TaskView(
        id=envelope.id,
        about=about(envelope),
        status=Status.SCHEDULED if is_delayed(envelope) else Status.QUEUED,
        generation=envelope.generation,
        attempt=envelope.attempt,
        losses=0,
        started_at_ms=None,
        ending=None,
        result=None,
    )


class Accepted(Struct, frozen=True):
    """The log has it. With `is_deferred`, Redis could not say whether the key was taken."""

    task: TaskView
    is_deferred: bool
    is_spilled: bool = False
    """True when the log is away and the outbox has it."""


class ReplayOf(Struct, frozen=True):
    """The same request came before; this is its task as it is now."""

    task: TaskView

    @property
    def is_deferred(self) -> bool:
        """Whether Redis has not yet said that the key was free: it gives a generation then."""
        return self.task.generation == 0


class KeyReused(Struct, frozen=True):
    """Another request came before under this key."""

    id: TaskId


class NotTaken(Struct, frozen=True):
    """Neither the log nor the outbox could take it, and nothing was decided: it is nowhere."""


class NotConfirmed(Struct, frozen=True):
    """The log did not confirm it: it may stand there all the same, or be published later."""


class Unreadable(Struct, frozen=True):
    """The same request came before, but nobody can tell its task now."""


Receipt: TypeAlias = Accepted | ReplayOf | KeyReused | NotTaken | NotConfirmed | Unreadable


class Entry(StrEnum):
    """How a request came into the log."""

    CREATED = "created"
    KNOWN = "known"
    """It was taken before, and came again."""
    REPLAYED = "replayed"


class InLog(Struct, frozen=True):
    """The log has it: whoever brought it is done with it."""

    id: TaskId
    entry: Entry


class NotNow(Struct, frozen=True):
    """Nothing was decided that is not owed: the same request is to come again."""

    why: str


Taken: TypeAlias = InLog | KeyReused | NotNow
"""What becomes of a request that stands in something durable."""
