"""The request for a task, at every entry point."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from taskmill.core.backoff import Factor, Seconds
from taskmill.core.pointers import Digest, Size
from taskmill.core.task import LONGEST_FAIRNESS_KEY, PriorityName
from taskmill.core.time import LONGEST_DELAY, LONGEST_TIMEOUT

PAYLOAD_BYTES = 262_144
METADATA_BYTES = 1_024
METADATA_ENTRIES = 32
LONGEST_KEY = 255

NOT_YET = (
    "concurrency_key",
    "rate_key",
    "cost",
    "ordering_key",
)

DelaySeconds = Annotated[
    float,
    Meta(
        ge=0,
        le=LONGEST_DELAY.total_seconds(),
        description="How long to wait before it may start; alternative to `run_at`.",
    ),
]
RunAt = Annotated[
    str,
    Meta(
        description="When it may start, with a zone; a past time means now,"
        f" and the limit is {LONGEST_DELAY.days} days ahead.",
        extra_json_schema={"format": "date-time"},
    ),
]
ExpiresAt = Annotated[
    str,
    Meta(
        description="A task that has not started by then dies as `expired`.",
        extra_json_schema={"format": "date-time"},
    ),
]


MaxAttempts = Annotated[
    int, Meta(ge=1, le=100, description="Maximum number of calls of the worker.")
]
TimeoutSeconds = Annotated[
    float,
    Meta(ge=0.1, le=LONGEST_TIMEOUT.total_seconds(), description="Time limit of an attempt."),
]


class RetryRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The first wait grows by the factor with each attempt, up to the cap."""

    first_seconds: Seconds | UnsetType = UNSET
    factor: Factor | UnsetType = UNSET
    cap_seconds: Seconds | UnsetType = UNSET


class PayloadRef(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the payload was uploaded, as returned by POST /v1/payloads."""

    url: Annotated[str, Meta(pattern=r"^s3://", max_length=1_024)]
    size: Size
    sha256: Digest


IdempotencyKey = Annotated[
    str,
    Meta(
        description="Identifies the request: repeating it with the same key returns the same task.",
        extra_json_schema={"minLength": 1, "maxLength": LONGEST_KEY, "pattern": "^[ -~]+$"},
    ),
]


HeaderKey = Annotated[
    str,
    Meta(extra_json_schema={"minLength": 1, "maxLength": LONGEST_KEY, "pattern": r"^[ -+\--~]+$"}),
]
"""Without a comma: the platform joins repeated headers, and two keys are invalid."""


Metadata = Annotated[
    dict[str, str],
    Meta(
        description=f"Stored, searchable and returned; {METADATA_BYTES} bytes in all.",
        extra_json_schema={"maxProperties": METADATA_ENTRIES},
    ),
]


PriorityRequest = Annotated[
    PriorityName | Annotated[int, Meta(ge=0, le=3)],
    Meta(
        description="Waiting tasks with a higher one start first; 3 to 0 mean `critical` to `low`."
    ),
]
FairnessKey = Annotated[
    str,
    Meta(
        description="Waiting tasks with different keys take turns, such as those of two customers.",
        extra_json_schema={
            "minLength": 1,
            "maxLength": LONGEST_FAIRNESS_KEY,
            "pattern": r"^[^\x00-\x1f\x7f-\x9f]+$",
        },
    ),
]


class TaskRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A task; omitted fields get the defaults of its type."""

    type: Annotated[str, Meta(min_length=1, max_length=128, description="A deployed type.")]
    payload: Any = msgspec.field(default_factory=dict)
    payload_ref: PayloadRef | UnsetType = UNSET
    idempotency_key: IdempotencyKey | UnsetType = UNSET
    max_attempts: MaxAttempts | UnsetType = UNSET
    timeout_seconds: TimeoutSeconds | UnsetType = UNSET
    retry: RetryRequest = RetryRequest()
    delay_seconds: DelaySeconds | UnsetType = UNSET
    run_at: RunAt | UnsetType = UNSET
    expires_at: ExpiresAt | UnsetType = UNSET
    metadata: Metadata = {}
    priority: PriorityRequest | UnsetType = UNSET
    fairness_key: FairnessKey | UnsetType = UNSET
