"""What an attempt runs with: its run context, its task, and its large payload."""

import logging
import re
from collections.abc import Callable, Mapping, MutableMapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from taskmill.core.errors import BlobRefused, StoreUnavailable
from taskmill.core.pointers import POINTED_BYTES, Pointer, pointer_to, result_key
from taskmill.core.ports import Bus, Chance, Clock, Counters
from taskmill.core.task import Envelope, Millis, TaskId, TaskType
from taskmill.core.time import expires_ms
from taskmill.execution.lease import Lease, Loss
from taskmill.execution.outcome import (
    RESULT_LIMIT,
    Attempt,
    Cancelled,
    GivenBack,
    Misfit,
    Retry,
    Snooze,
    Stored,
    encode_result,
)
from taskmill.execution.pace import USUAL, Pace
from taskmill.execution.ports import Bell, Deaf, Executor, Leases, Performed
from taskmill.lanes.lane import Leave
from taskmill.lanes.ports import Lanes
from taskmill.submission.payloads import REST
from taskmill.submission.ports import Blobs

_log = logging.getLogger("taskmill.task")


_MEDIA_TYPE = re.compile(r"[\w.+\-]{1,100}/[\w.+\-]{1,100}(?:; ?[\w.+\-]{1,40}=[\w.+\-]{1,70})?")


class RunContext(Struct, frozen=True, kw_only=True):
    lanes: Lanes
    leases: Leases
    bus: Bus
    counters: Counters
    executor: Executor
    clock: Clock
    chance: Chance
    process: str
    concurrency: int
    longest: timedelta
    """Upper limit for every attempt, whatever its task says."""
    remaining: Callable[[], timedelta]
    pace: Pace = USUAL
    cuts_off_cancelled: bool = False
    """True when a cancelled attempt is not waited for: from then on its call is a stray."""

    is_leaving: Callable[[], bool] = lambda: False
    """True when this process must end: nothing is started, and running tasks end soon."""

    partition: int = 0
    """The partition of the wake-up that started this invocation."""

    bell: Bell = Deaf()
    beat: Callable[[], None] = lambda: None
    """Called with each heartbeat: shows that the process works, and reports its counters."""

    watch: Callable[[TaskType], None] = lambda _: None
    """Watches the lane of a type while no scheduler does."""


class Running(Struct, kw_only=True):
    attempt: Attempt
    source: str
    leave: Leave
    timeout: timedelta
    deadline_ms: int
    ahead_ms: int
    """How far the clock of Redis, which every process can see, is ahead of ours."""

    unreported: tuple[Loss, ...]
    cancel_requested: bool = False
    is_lost: bool = False
    answered_at_ms: int
    """When its last claim or beat was sent that was answered, by our own clock."""

    is_sure: bool = True
    """Whether no lease has passed since an answer; from then on only its own lease is extended."""

    is_start_reported: bool = False

    @property
    def expired_ms(self) -> Millis | None:
        """Return the latest start time if this is the first start and comes too late."""
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
            source=self.source,
            is_sure=self.is_sure,
        )


class Interrupted(BaseException):
    """Nobody waits for the attempt any more; raised by `Task.check`. Handlers should not catch it.

    Like `asyncio.CancelledError` it passes through an ``except Exception``.
    """

    def __init__(self, words: str, end: Cancelled | GivenBack) -> None:
        super().__init__(words)
        self.end = end


class Task:
    """The task that a handler performs."""

    __slots__ = ("_bucket", "_payload", "_running")

    def __init__(
        self,
        running: Running,
        payload: Raw | None = None,
        bucket: Callable[[], Blobs] | None = None,
    ) -> None:
        self._running = running
        self._payload = payload
        self._bucket = bucket

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
        """Where the payload was uploaded, if it was too large to send."""
        return self._envelope.payload_ref

    def with_payload(self, content: bytes) -> "Task":
        """Return the same task with its fetched payload."""
        return Task(self._running, Raw(content), self._bucket)

    def with_bucket(self, bucket: Callable[[], Blobs]) -> "Task":
        """Return the same task with the bucket that `store` writes to."""
        return Task(self._running, self._payload, bucket)

    @property
    def metadata(self) -> Mapping[str, str]:
        return self._envelope.metadata

    @property
    def attempt(self) -> int:
        """The number of this attempt; the first is 1."""
        return self._envelope.attempt

    @property
    def max_attempts(self) -> int:
        return self._envelope.max_attempts

    @property
    def generation(self) -> int:
        return self._envelope.generation

    @property
    def losses(self) -> int:
        """How often its process died during the task; orderly stops do not count."""
        return self._running.attempt.losses

    @property
    def idempotency_token(self) -> str:
        """The same in every attempt and redrive of a submission: pass it to services you call."""
        return f"{self.id}-{self._envelope.submitted or self.generation}"

    @property
    def started_at(self) -> datetime:
        """When this attempt started, by the one clock that all processes share."""
        return datetime.fromtimestamp(self._running.attempt.started_at_ms / 1000, UTC)

    @property
    def deadline(self) -> datetime:
        """When this attempt is stopped."""
        return datetime.fromtimestamp(self._running.deadline_ms / 1000, UTC)

    @property
    def cancelled(self) -> bool:
        """True once the task was cancelled or is run elsewhere: its result is no longer needed."""
        return self._running.cancel_requested or self._running.is_lost

    def check(self) -> None:
        """Raise `Interrupted` once `cancelled` is true, which ends the attempt at once.

        Call it between the steps of long work. A plain function cannot be interrupted from outside:
        a cancelled task keeps its thread until the function returns or calls this. An ``async def``
        is stopped at its deadline; for a process that runs one task at a time, ``serve(...,
        end_process_on_cancel=True)`` ends the process instead.
        """
        if self._running.cancel_requested:
            raise Interrupted("the task was cancelled", Cancelled())
        if self._running.is_lost:
            raise Interrupted("another process now runs the task", GivenBack())

    def store(self, content: bytes, media_type: str = "application/octet-stream") -> Pointer:
        """Write *content* to the bucket as part of the result, and return its location.

        Return the pointer, or a value that contains it, as the result. The object is named by its
        task and its content: a repeated attempt replaces it with the same content. The call blocks;
        from an ``async def``, use ``asyncio.to_thread``.
        """
        if self._bucket is None:
            raise LookupError("this task has no bucket: provide one with with_bucket")
        if not 0 < len(content) <= POINTED_BYTES:
            raise ValueError(
                f"content has {len(content)} bytes; the limits are 1 and {POINTED_BYTES}"
            )
        if not _MEDIA_TYPE.fullmatch(media_type):
            raise ValueError(f"media_type must look like 'image/png', not {media_type!r:.100}")
        pointer = pointer_to("", content)
        key = result_key(self.type, self.id, pointer.sha256)
        bucket = self._bucket()
        bucket.write(key, content, media_type=media_type)
        return replace(pointer, url=bucket.url(key))

    @property
    def logger(self) -> logging.LoggerAdapter[logging.Logger]:
        """A logger whose lines identify the task."""
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
    """Return the fields that identify a task in log lines."""
    return {"task_id": envelope.id, "task_type": envelope.type, "attempt": envelope.attempt}


def fetch(pointer: Pointer, blobs: Blobs) -> bytes | Misfit | Snooze:
    """Return the payload; an unavailable bucket costs the task no attempt."""
    try:
        content = blobs.read(pointer.url, most=pointer.size + 1)
    except StoreUnavailable as error:
        return Snooze(REST, f"the payload cannot be fetched: {error}")
    if content is None:
        return Misfit(f"the payload is no longer at {pointer.url}")
    if pointer_to(pointer.url, content) != pointer:
        return Misfit(f"the object at {pointer.url} is not the submitted payload")
    return content


def too_large(result: Any) -> bytes | None:
    """Return the result as JSON if it must be stored in the bucket.

    A result that is not JSON, or too large even for the bucket, takes the usual way and is refused
    there.
    """
    try:
        if len(msgspec.json.encode(result)) <= RESULT_LIMIT:
            return None
        return bytes(encode_result(result, limit=POINTED_BYTES))
    except (TypeError, ValueError, RecursionError, AttributeError):
        return None


def keep(content: bytes, task: Task, blobs: Blobs) -> Stored | Retry:
    """Store a result; if that fails, a retry may duplicate the effect."""
    pointer = pointer_to("", content)
    key = result_key(task.type, task.id, pointer.sha256)
    try:
        blobs.write(key, content)
    except (StoreUnavailable, BlobRefused) as error:
        return Retry(f"the result cannot be stored: {error}", may_have_worked=True)
    return Stored(msgspec.structs.replace(pointer, url=blobs.url(key)))
