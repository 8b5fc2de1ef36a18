"""A task: its specification, its envelope, its status, and how its id is made."""

import re
from collections.abc import Mapping
from enum import IntEnum, StrEnum
from hashlib import sha256
from typing import Annotated, Literal, NewType, TypeAlias

import msgspec
from msgspec import Meta, Raw, Struct, convert

from taskmill.core.backoff import DEFAULT_RETRY, RetryPolicy
from taskmill.core.pointers import Pointer

TaskId = NewType("TaskId", str)
TaskType = NewType("TaskType", str)
Millis = NewType("Millis", int)
"""A time in milliseconds since 1970, the unit of every wire format and store."""

LAST_MOMENT = 253_402_300_799_999
"""The end of the year 9999, the last that the calendar supports."""

Moment: TypeAlias = Annotated[Millis, Meta(ge=0, le=LAST_MOMENT)]
"""A time as the log may contain it: every list shows it as a date."""

DEFAULT_TENANT = "default"


class Status(StrEnum):
    SCHEDULED = "scheduled"
    QUEUED = "queued"
    RUNNING = "running"
    RETRYING = "retrying"
    SUCCEEDED = "succeeded"
    DEAD = "dead"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        return self in FINAL


PriorityName: TypeAlias = Literal["critical", "high", "normal", "low"]


class Priority(IntEnum):
    """Which of the waiting tasks of a type start first: the larger ones."""

    LOW = 0
    NORMAL = 1
    HIGH = 2
    CRITICAL = 3


PRIORITY_NAMES: Mapping[Priority, PriorityName] = {
    Priority.CRITICAL: "critical",
    Priority.HIGH: "high",
    Priority.NORMAL: "normal",
    Priority.LOW: "low",
}
PRIORITIES: Mapping[PriorityName | int, Priority] = {
    **{name: priority for priority, name in PRIORITY_NAMES.items()},
    **{int(priority): priority for priority in Priority},
}
"""What clients may send: a name or a number."""

LONGEST_FAIRNESS_KEY = 200
FAIRNESS_KEY = re.compile(rf"[^\x00-\x1f\x7f-\x9f]{{1,{LONGEST_FAIRNESS_KEY}}}")
"""A lane joins its names with tabs, so no control character may be part of a key."""

LARGEST_INDEX = 999


_Uuid = Annotated[TaskId, Meta(pattern=r"\A[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")]
"""An id as the log may contain it: the shard is computed from its last digits."""

FINAL = frozenset({Status.SUCCEEDED, Status.DEAD, Status.CANCELLED})


class Timing(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """When a task may start, and the latest time at which it must have started."""

    run_at_ms: Moment | None = None
    delay_ms: Annotated[int, Meta(ge=0, le=LAST_MOMENT)] | None = None
    """Instead of a time: relative to the generation, which is a time by Redis's clock."""
    expires_at_ms: Moment | None = None
    turn: int = 1
    """The turn that this applies to; a task in a later turn has already started."""
    said_ms: Moment | None = None
    """When the timing was set, if later than the submission."""


class Submission(Struct, frozen=True, kw_only=True):
    """A request after it has passed every check at its entry point."""

    type: TaskType
    tenant: str = DEFAULT_TENANT
    payload: Raw
    payload_ref: Pointer | None = None
    """Where a large payload is stored; `payload` is then null."""
    fingerprint: str
    idempotency_key: str | None = None
    max_attempts: int
    timeout_seconds: Annotated[float, Meta(ge=0)]
    retry: RetryPolicy = DEFAULT_RETRY
    metadata: Mapping[str, str] = {}
    timing: Timing | None = None
    priority: Priority = Priority.NORMAL
    fairness_key: str | None = None
    """Tasks of one tenant with different keys take turns."""

    @property
    def payload_size(self) -> int:
        return len(bytes(self.payload)) if self.payload_ref is None else self.payload_ref.size

    @property
    def changed(self) -> int:
        """The turn from which metadata, priority and timing apply: 1 as submitted."""
        return self.timing.turn if self.timing else 1


class Spec(Submission, frozen=True, kw_only=True):
    """What was asked for, and when: created once at the entry point and then never changed."""

    submission: str
    """The request's nonce: a repeated request has a different one."""
    submitted: int = 0
    """The generation of the submission, which a redrive keeps. Zero means this generation."""
    created_at_ms: Moment
    index: Annotated[int, Meta(ge=0, le=LARGEST_INDEX)] = 0
    """Its place in the batch with which it was submitted."""


class Envelope(Spec, frozen=True, kw_only=False, omit_defaults=True):
    """A task in transit on Kafka: its spec and its place in the life cycle."""

    generation: int
    """Zero until `admit` assigns one. It comes first because a script completes it."""
    id: _Uuid
    turn: int = 1
    attempt: int = 1
    deferred: bool = False
    """True when Redis was unavailable to the gateway: the dispatcher then admits it."""
    parked_until_ms: Millis | None = None
    """How long the dispatcher waits for a worker of this type."""
    order_ms: Moment | None = None
    """Its place among waiting tasks, if that follows neither from its submission nor its timing."""

    @property
    def spec(self) -> Spec:
        """The spec, as in the ledger: it names the generation of the submission."""
        return Spec(
            type=self.type,
            tenant=self.tenant,
            payload=self.payload,
            payload_ref=self.payload_ref,
            fingerprint=self.fingerprint,
            idempotency_key=self.idempotency_key,
            max_attempts=self.max_attempts,
            timeout_seconds=self.timeout_seconds,
            retry=self.retry,
            metadata=self.metadata,
            timing=self.timing,
            priority=self.priority,
            fairness_key=self.fairness_key,
            submission=self.submission,
            submitted=self.submitted or self.generation,
            created_at_ms=self.created_at_ms,
            index=self.index,
        )


class ShownSpec(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The part of a spec that readers see: records keep no payload for them."""

    type: TaskType
    tenant: str
    idempotency_key: str | None
    created_at_ms: Millis
    max_attempts: int
    payload_size: int
    metadata: Mapping[str, str]
    timing: Timing | None = None
    payload_ref: Pointer | None = None
    priority: Priority = Priority.NORMAL
    fairness_key: str | None = None


def shown(spec: Spec) -> ShownSpec:
    return convert(spec, ShownSpec, from_attributes=True)


def keyed_id(tenant: str, task_type: TaskType, key: str) -> TaskId:
    """Return the id that belongs to this idempotency key forever: a UUIDv8."""
    digest = sha256()
    for part in (tenant, task_type, key):
        octets = part.encode()
        digest.update(len(octets).to_bytes(4, "big") + octets)
    return _uuid(int.from_bytes(digest.digest()[:16], "big"), version=8)


def unkeyed_id(now: Millis, entropy: bytes) -> TaskId:
    """Return a UUIDv7 of the current time and ten random bytes."""
    return _uuid(now << 80 | int.from_bytes(entropy[:10], "big"), version=7)


def is_keyed(task_id: TaskId) -> bool:
    """Return whether the id comes from a key, so that its task may have had an earlier life."""
    return task_id[14] == "8"


def _uuid(number: int, *, version: int) -> TaskId:
    number = number & ~(0xF << 76) | version << 76
    number = number & ~(0x3 << 62) | 0x2 << 62
    digits = f"{number:032x}"
    return TaskId("-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])))


def shard_of(task_id: TaskId, shards: int) -> int:
    """Return the shard of a task; the last 32 bits of an id are practically random."""
    return int(task_id[-8:], 16) % shards


def fingerprint(request: Mapping[str, object]) -> str:
    """Return the hash of a request's fields as they were sent, without the key."""
    fields = {name: value for name, value in request.items() if name != "idempotency_key"}
    return sha256(msgspec.json.encode(fields, order="deterministic")).hexdigest()
