"""Turns a request body into submissions, or says what is wrong and where."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from functions.gateway.problem import Problem, too_large, unprocessable
from functions.gateway.times import DelaySeconds, ExpiresAt, RunAt, read_timing
from taskmill.domain.backoff import Factor, RetryPolicy, Seconds
from taskmill.domain.catalogue import TypeEntry
from taskmill.domain.naming import fingerprint
from taskmill.domain.pointers import Digest, Pointer, Size
from taskmill.domain.submission import Submission
from taskmill.domain.task import Millis
from taskmill.ports.catalogue import Catalogue

PAYLOAD_BYTES = 262_144
METADATA_BYTES = 1_024
METADATA_ENTRIES = 32
LONGEST_KEY = 255
BATCH_TASKS = 1_000
BATCH_BYTES = 5 * 1024 * 1024

NOT_YET = (
    "priority",
    "concurrency_key",
    "rate_key",
    "cost",
    "fairness_key",
    "ordering_key",
)
NO_PAYLOAD = Raw(b"null")
_PRINTABLE = re.compile(r"[\x20-\x7e]+")


class RetryRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The first wait grows by the factor with each attempt, up to the cap."""

    first_seconds: Seconds | UnsetType = UNSET
    factor: Factor | UnsetType = UNSET
    cap_seconds: Seconds | UnsetType = UNSET


class PayloadRef(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the payload was uploaded to, as POST /v1/payloads told."""

    url: Annotated[str, Meta(pattern=r"^s3://", max_length=1_024)]
    size: Size
    sha256: Digest


IdempotencyKey = Annotated[
    str,
    Meta(
        description="Names the request: repeated under its key, it is the same task.",
        extra_json_schema={"minLength": 1, "maxLength": LONGEST_KEY, "pattern": "^[ -~]+$"},
    ),
]


HeaderKey = Annotated[
    str,
    Meta(extra_json_schema={"minLength": 1, "maxLength": LONGEST_KEY, "pattern": r"^[ -+\--~]+$"}),
]
"""Without a comma: the platform joins headers of one name, and two keys are none."""


Metadata = Annotated[
    dict[str, str],
    Meta(
        description=f"Stored, searchable, returned; {METADATA_BYTES} bytes in all.",
        extra_json_schema={"maxProperties": METADATA_ENTRIES},
    ),
]


class TaskRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A task; what is left out is as its type says."""

    type: Annotated[str, Meta(min_length=1, max_length=128, description="A deployed type.")]
    payload: Any = msgspec.field(default_factory=dict)
    payload_ref: PayloadRef | UnsetType = UNSET
    idempotency_key: IdempotencyKey | UnsetType = UNSET
    max_attempts: (
        Annotated[int, Meta(ge=1, le=100, description="Calls of the worker in all.")] | UnsetType
    ) = UNSET
    timeout_seconds: (
        Annotated[float, Meta(ge=0.1, le=800, description="After that an attempt is cut off.")]
        | UnsetType
    ) = UNSET
    retry: RetryRequest = RetryRequest()
    delay_seconds: DelaySeconds | UnsetType = UNSET
    run_at: RunAt | UnsetType = UNSET
    expires_at: ExpiresAt | UnsetType = UNSET
    metadata: Metadata = {}


def read_submission(
    given: Any, header_key: str | None, catalogue: Catalogue, *, now: Millis
) -> Submission | Problem:
    """Return the submission that *given* (a JSON value) asks for, or the first problem."""
    request = _request(given)
    if isinstance(request, Problem):
        return request
    entry = catalogue.entry(request.type)
    if entry is None:
        return unknown_type(request.type, catalogue)
    key = _key(request, header_key)
    if isinstance(key, Problem):
        return key
    timing = read_timing(request.delay_seconds, request.run_at, request.expires_at, now=now)
    if isinstance(timing, Problem):
        return timing
    payload = NO_PAYLOAD if request.payload_ref else Raw(msgspec.json.encode(request.payload))
    problem = (
        metadata_problem(request.metadata)
        or _timeout_problem(request, entry)
        or _payload_problem(request, payload, catalogue)
    )
    if problem is not None:
        return problem
    submission = _submission(given, request, entry, payload, key)
    return submission if timing is None else replace(submission, timing=timing)


def _request(given: Any) -> TaskRequest | Problem:
    if not isinstance(given, dict):
        return unprocessable("invalid_request", "a task is a JSON object", "")
    for name in NOT_YET:
        if name in given:
            return unprocessable(
                "not_supported_yet", f"{name} is not supported yet: leave it out", f"/{name}"
            )
    for name in given:
        if name not in TaskRequest.__struct_fields__:
            detail = f"there is no field {name!r}"
            return unprocessable(
                "invalid_request", detail, f"/{name.replace('~', '~0').replace('/', '~1')}"
            )
    if "payload" in given and "payload_ref" in given:
        detail = "a task has a payload or a payload_ref, and not both"
        return unprocessable("payload_conflict", detail, "/payload_ref")
    if "type" not in given:
        return unprocessable("invalid_request", "type is missing: name a deployed type", "/type")
    try:
        return msgspec.convert(given, TaskRequest)
    except msgspec.ValidationError as error:
        return misfit(str(error))


_PATH = re.compile(r" - at `\$(?P<path>[^`]*)`$")


def misfit(message: str) -> Problem:
    """Name the field of a validation error, as a JSON pointer."""
    found = _PATH.search(message)
    steps = re.findall(r"[^.\[\]]+", found["path"]) if found else []
    detail = message[: found.start()] if found else message
    return unprocessable("invalid_request", detail, "".join(f"/{step}" for step in steps))


def unknown_type(name: str, catalogue: Catalogue) -> Problem:
    known = ", ".join(entry.name for entry in catalogue.entries())
    detail = f"no worker takes tasks of type {name!r}; the deployed types are: {known}"
    return unprocessable("unknown_type", detail, "/type")


def _key(request: TaskRequest, header_key: str | None) -> str | Problem | None:
    if header_key is not None and "," in header_key:
        detail = (
            "the header Idempotency-Key was sent twice, or its key has a comma:"
            " send such a key in the field idempotency_key"
        )
        return unprocessable("invalid_request", detail, "/idempotency_key")
    given = [key for key in (request.idempotency_key, header_key) if isinstance(key, str)]
    if len(set(given)) > 1:
        detail = "the header Idempotency-Key and the field idempotency_key differ"
        return unprocessable("invalid_request", detail, "/idempotency_key")
    for key in given:
        if len(key) > LONGEST_KEY or not _PRINTABLE.fullmatch(key):
            detail = f"an idempotency key has 1 to {LONGEST_KEY} characters of printable ASCII"
            return unprocessable("invalid_request", detail, "/idempotency_key")
    return given[0] if given else None


def metadata_problem(metadata: Mapping[str, str]) -> Problem | None:
    size = sum(_size(name) + _size(value) for name, value in metadata.items())
    if len(metadata) > METADATA_ENTRIES or size > METADATA_BYTES:
        detail = (
            f"metadata has {len(metadata)} entries and {size} bytes;"
            f" the limits are {METADATA_ENTRIES} and {METADATA_BYTES}"
        )
        return unprocessable("invalid_request", detail, "/metadata")
    return None


def _size(text: str) -> int:
    """Return the bytes of *text* as JSON, unquoted: a control character is six of them."""
    return len(msgspec.json.encode(text)) - 2


def _timeout_problem(request: TaskRequest, entry: TypeEntry) -> Problem | None:
    wanted = request.timeout_seconds
    if isinstance(wanted, float) and wanted > entry.function_timeout_seconds:
        detail = (
            f"the worker of {entry.name!r} itself ends after"
            f" {entry.function_timeout_seconds:g} s: ask for no more"
        )
        return unprocessable("invalid_request", detail, "/timeout_seconds")
    return None


def _payload_problem(request: TaskRequest, payload: Raw, catalogue: Catalogue) -> Problem | None:
    if request.payload_ref:
        return None  # the worker reads it
    size = len(bytes(payload))
    if size > PAYLOAD_BYTES:
        detail = (
            f"the payload has {size} bytes; the limit is {PAYLOAD_BYTES}:"
            " upload it as POST /v1/payloads tells, and send its payload_ref"
        )
        return too_large("payload_too_large", detail, "/payload")
    found = catalogue.misfit(request.type, request.payload)
    if found is not None:
        return unprocessable("invalid_payload", found.why, f"/payload{found.pointer}")
    return None


def _submission(
    given: Mapping[str, Any], request: TaskRequest, entry: TypeEntry, payload: Raw, key: str | None
) -> Submission:
    attempts, timeout = request.max_attempts, request.timeout_seconds
    pointed = request.payload_ref
    return Submission(
        type=entry.name,
        payload=payload,
        idempotency_key=key,
        max_attempts=entry.defaults.max_attempts if attempts is UNSET else attempts,
        timeout_seconds=entry.defaults.timeout_seconds if timeout is UNSET else timeout,
        retry=_policy(request.retry, entry.defaults.retry),
        metadata=request.metadata,
        fingerprint=fingerprint(given),
        payload_ref=Pointer(**msgspec.structs.asdict(pointed)) if pointed else None,
    )


def _policy(wanted: RetryRequest, usual: RetryPolicy) -> RetryPolicy:
    first, factor, cap = wanted.first_seconds, wanted.factor, wanted.cap_seconds
    return RetryPolicy(
        first_seconds=usual.first_seconds if first is UNSET else first,
        factor=usual.factor if factor is UNSET else factor,
        cap_seconds=usual.cap_seconds if cap is UNSET else cap,
    )
