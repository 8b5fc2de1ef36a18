"""A task: its specification, its envelope, its status, and how its id is made."""

from collections.abc import Mapping
from enum import StrEnum
from hashlib import sha256
from operator import attrgetter
from typing import Annotated, NewType, TypeAlias

import msgspec
from msgspec import Meta, Raw, Struct, convert

from taskmill.core.backoff import DEFAULT_RETRY, RetryPolicy
from taskmill.core.pointers import Pointer

TaskId = NewType("TaskId", str)
TaskType = NewType("TaskType", str)
Millis = NewType("Millis", int)
"""A moment: milliseconds since 1970, the unit of every wire and store."""

LAST_MOMENT = 253_402_300_799_999
"""The calendar ends with the year 9999."""

Moment: TypeAlias = Annotated[Millis, Meta(ge=0, le=LAST_MOMENT)]
"""As the log may tell it: every list shows moments."""

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


_Uuid = Annotated[TaskId, Meta(pattern=r"\A[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")]
"""What the log may hold: a shard is read from an id's last digits."""

FINAL = frozenset({Status.SUCCEEDED, Status.DEAD, Status.CANCELLED})


class Timing(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """When a task may begin, and until when it must have begun."""

    run_at_ms: Moment | None = None
    delay_ms: Annotated[int, Meta(ge=0, le=LAST_MOMENT)] | None = None
    """Instead of a moment: counted from the generation, which is a moment of Redis."""
    expires_at_ms: Moment | None = None
    turn: int = 1
    """The turn that all this is said of; whatever comes behind it has begun before."""
    said_ms: Moment | None = None
    """When it was said, where that was later than the submission."""


class Submission(Struct, frozen=True, kw_only=True):
    """What a request asks for, as it passed every check at the door."""

    type: TaskType
    tenant: str = DEFAULT_TENANT
    payload: Raw
    payload_ref: Pointer | None = None
    """Where the payload stands instead; `payload` is then null."""
    fingerprint: str
    idempotency_key: str | None = None
    max_attempts: int
    timeout_seconds: Annotated[float, Meta(ge=0)]
    retry: RetryPolicy = DEFAULT_RETRY
    metadata: Mapping[str, str] = {}
    timing: Timing | None = None

    @property
    def payload_size(self) -> int:
        return len(bytes(self.payload)) if self.payload_ref is None else self.payload_ref.size

    @property
    def changed(self) -> int:
        """The turn from which on metadata and timing are so: 1 as it was submitted."""
        return self.timing.turn if self.timing else 1


class Spec(Submission, frozen=True, kw_only=True):
    """What was asked for, and when: made once at the door, and the same wherever the task is."""

    submission: str
    """The request's own word: the same request, sent again, has another one."""
    submitted: int = 0
    """The generation that the submission got; a redrive keeps it. Zero: this generation."""
    created_at_ms: Moment


class Envelope(Spec, frozen=True, kw_only=False):
    """A task in line: its spec and where it is in its life, as they travel on Kafka."""

    generation: int
    """Zero until `admit` has given one. It stands first because a script completes it."""
    id: _Uuid
    turn: int = 1
    attempt: int = 1
    deferred: bool = False
    """True when the gateway could not ask Redis: the dispatcher admits it."""
    parked_until_ms: Millis | None = None
    """Until when the dispatcher waits for a worker that takes this type."""

    @property
    def spec(self) -> Spec:
        """What was asked for; as in the ledger, it names the generation of the submission."""
        fields = dict(zip(_SPEC, _spec_of(self), strict=True))
        fields["submitted"] = self.submitted or self.generation
        return Spec(**fields)


_SPEC = Spec.__struct_fields__
_spec_of = attrgetter(*_SPEC)


class ShownSpec(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What readers see of a spec: a record keeps no payload for them."""

    type: TaskType
    tenant: str
    idempotency_key: str | None
    created_at_ms: Millis
    max_attempts: int
    payload_size: int
    metadata: Mapping[str, str]
    timing: Timing | None = None
    payload_ref: Pointer | None = None


def shown(spec: Spec) -> ShownSpec:
    return convert(spec, ShownSpec, from_attributes=True)


def keyed_id(tenant: str, task_type: TaskType, key: str) -> TaskId:
    """Return the id that this idempotency key always names: a UUIDv8."""
    digest = sha256()
    for part in (tenant, task_type, key):
        octets = part.encode()
        digest.update(len(octets).to_bytes(4, "big") + octets)
    return _uuid(int.from_bytes(digest.digest()[:16], "big"), version=8)


def unkeyed_id(now: Millis, entropy: bytes) -> TaskId:
    """Return a UUIDv7 of this moment and ten random bytes."""
    return _uuid(now << 80 | int.from_bytes(entropy[:10], "big"), version=7)


def is_keyed(task_id: TaskId) -> bool:
    """Tell whether the id comes from a key, so that its task may have had a life before."""
    return task_id[14] == "8"


def _uuid(number: int, *, version: int) -> TaskId:
    number = number & ~(0xF << 76) | version << 76
    number = number & ~(0x3 << 62) | 0x2 << 62
    digits = f"{number:032x}"
    return TaskId("-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])))


def shard_of(task_id: TaskId, shards: int) -> int:
    """Return the shard of a task; the last 32 bits of an id are as good as random."""
    return int(task_id[-8:], 16) % shards


def fingerprint(request: Mapping[str, object]) -> str:
    """Return the hash of a request's fields as they were given, without the key."""
    fields = {name: value for name, value in request.items() if name != "idempotency_key"}
    return sha256(msgspec.json.encode(fields, order="deterministic")).hexdigest()
