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
from taskmill.core.log import Position
from taskmill.core.pointers import POINTED_BYTES, Pointer, pointer_to, result_key
from taskmill.core.ports import Bus, Chance, Clock
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
from taskmill.execution.ports import Crew, Leases, Performed
from taskmill.submission.payloads import REST
from taskmill.submission.ports import Blobs

_log = logging.getLogger("taskmill.task")


_MEDIA_TYPE = re.compile(r"[\w.+\-]{1,100}/[\w.+\-]{1,100}(?:; ?[\w.+\-]{1,40}=[\w.+\-]{1,70})?")


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
    cuts_off_cancelled: bool = False
    """True when a cancelled attempt is not waited for: its call is a stray from then on."""

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


class Interrupted(BaseException):
    """Nobody waits for the attempt any more; raised by `Task.check`, and left alone by handlers.

    Like `asyncio.CancelledError` it passes through an ``except Exception``.
    """

    def __init__(self, words: str, end: Cancelled | GivenBack) -> None:
        super().__init__(words)
        self.end = end


class Task:
    """What a handler is told about the task that it performs."""

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
        """Where the payload was uploaded to, if it was too large to be sent."""
        return self._envelope.payload_ref

    def with_payload(self, content: bytes) -> "Task":
        """Return the same task with the payload that was fetched for it."""
        return Task(self._running, Raw(content), self._bucket)

    def with_bucket(self, bucket: Callable[[], Blobs]) -> "Task":
        """Return the same task with the bucket that `store` writes to."""
        return Task(self._running, self._payload, bucket)

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
        """How often its process ended before the task did, other than at an orderly stop."""
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

    def check(self) -> None:
        """Raise `Interrupted` once `cancelled` is true: the attempt then ends at once.

        Call it between two steps of long work. A plain function that runs cannot be ended from
        outside: a cancelled task keeps its thread until the function returns or calls this. An
        ``async def`` is cut off at its deadline; for a process that does one task at a time,
        ``serve(..., end_process_on_cancel=True)`` ends the process instead.
        """
        if self._running.cancel_requested:
            raise Interrupted("the task was cancelled", Cancelled())
        if self._running.is_lost:
            raise Interrupted("the attempt is no longer this process's", GivenBack())

    def store(self, content: bytes, media_type: str = "application/octet-stream") -> Pointer:
        """Write *content* to the bucket, as a part of the result, and return where it stands.

        Answer with the pointer, or with a value that names it. It is named by its task and its
        content: a repeated attempt replaces it by the same. It blocks; an ``async def`` calls it
        by ``asyncio.to_thread``.
        """
        if self._bucket is None:
            raise LookupError("this task has no bucket: give it one by with_bucket")
        if not 0 < len(content) <= POINTED_BYTES:
            raise ValueError(f"content has {len(content)} bytes; it may have 1 to {POINTED_BYTES}")
        if not _MEDIA_TYPE.fullmatch(media_type):
            raise ValueError(f"media_type is one such as 'image/png', not {media_type!r:.100}")
        pointer = pointer_to("", content)
        key = result_key(self.type, self.id, pointer.sha256)
        bucket = self._bucket()
        bucket.write(key, content, media_type=media_type)
        return replace(pointer, url=bucket.url(key))

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


def fetch(pointer: Pointer, blobs: Blobs) -> bytes | Misfit | Snooze:
    """Return the payload; a bucket that is away costs the task no attempt."""
    try:
        content = blobs.read(pointer.url, most=pointer.size + 1)
    except StoreUnavailable as error:
        return Snooze(REST, f"the payload cannot be fetched: {error}")
    if content is None:
        return Misfit(f"the payload is no longer at {pointer.url}")
    if pointer_to(pointer.url, content) != pointer:
        return Misfit(f"what is at {pointer.url} is not what was submitted")
    return content


def too_large(result: Any) -> bytes | None:
    """Return the result as JSON if it must be kept in the bucket.

    What is no JSON, or too large for the bucket too, goes its usual way, and is refused there.
    """
    try:
        if len(msgspec.json.encode(result)) <= RESULT_LIMIT:
            return None
        return bytes(encode_result(result, limit=POINTED_BYTES))
    except (TypeError, ValueError, RecursionError, AttributeError):
        return None


def keep(content: bytes, task: Task, blobs: Blobs) -> Stored | Retry:
    """Write a result down; where that fails the next try may double the effect."""
    pointer = pointer_to("", content)
    key = result_key(task.type, task.id, pointer.sha256)
    try:
        blobs.write(key, content)
    except (StoreUnavailable, BlobRefused) as error:
        return Retry(f"the result cannot be kept: {error}", may_have_worked=True)
    return Stored(msgspec.structs.replace(pointer, url=blobs.url(key)))
