"""Turns a request into a submission, or returns what is wrong and where, for every entry point."""

import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType
from msgspec.structs import replace

from taskmill.core.backoff import RetryPolicy
from taskmill.core.pointers import Pointer
from taskmill.core.refusal import Refusal, invalid, malformed, too_large
from taskmill.core.task import (
    FAIRNESS_KEY,
    LONGEST_FAIRNESS_KEY,
    PRIORITIES,
    Millis,
    Submission,
    Timing,
    fingerprint,
)
from taskmill.core.time import LONGEST_DELAY, in_ms
from taskmill.submission import strict_json
from taskmill.submission.catalogue import TypeEntry
from taskmill.submission.payloads import missing_payload
from taskmill.submission.ports import Blobs, Catalogue
from taskmill.submission.request import (
    LONGEST_KEY,
    METADATA_BYTES,
    METADATA_ENTRIES,
    NOT_YET,
    PAYLOAD_BYTES,
    RetryRequest,
    TaskRequest,
)

NO_PAYLOAD = Raw(b"null")
_PRINTABLE = re.compile(r"[\x20-\x7e]+")


def has_a_key(submission: Submission) -> bool:
    """Return whether another request may have asked for the same task."""
    return submission.idempotency_key is not None


def read_request(  # noqa: PLR0913 - its input and its dependencies, all named
    octets: bytes,
    header_key: str | None,
    catalogue: Catalogue,
    *,
    now: Millis,
    blobs: Callable[[], Blobs],
    is_known: Callable[[Submission], bool] = has_a_key,
) -> Submission | Refusal:
    """Return the fully checked submission that *octets* ask for, or the first refusal.

    The bucket is only opened for an uploaded payload, and *is_known* is only called for a request
    that comes too late to be the first one.
    """
    value = read_value(octets)
    if isinstance(value, Refusal):
        return value
    submission = read_submission(value, header_key, catalogue, now=now)
    if isinstance(submission, Refusal):
        return submission
    return (
        untimely(submission, now=now, is_known=is_known)
        or missing_payload(submission, blobs, now=now, is_known=is_known)
        or submission
    )


def untimely(
    submission: Submission, *, now: Millis, is_known: Callable[[Submission], bool]
) -> Refusal | None:
    """Return what is wrong with a request that was not made before.

    A repeated request comes later than the first and must still get its task.
    """
    refusal = begins_too_late(submission.timing, now=now)
    return None if refusal is None or is_known(submission) else refusal


def read_value(octets: bytes) -> Any:
    """Return the JSON value of *octets*, or the refusal of anything that is not strict JSON."""
    try:
        return strict_json.read(octets)
    except strict_json.NotJson as error:
        return malformed(str(error))


def read_submission(
    value: Any, header_key: str | None, catalogue: Catalogue, *, now: Millis
) -> Submission | Refusal:
    """Return the submission that *value* (a JSON value) asks for, or the first refusal."""
    request = _request(value)
    if isinstance(request, Refusal):
        return request
    entry = catalogue.entry(request.type)
    if entry is None:
        return unknown_type(request.type, catalogue)
    key = _key(request, header_key)
    if isinstance(key, Refusal):
        return key
    timing = read_timing(request.delay_seconds, request.run_at, request.expires_at, now=now)
    if isinstance(timing, Refusal):
        return timing
    payload = NO_PAYLOAD if request.payload_ref else Raw(msgspec.json.encode(request.payload))
    refusal = (
        metadata_refusal(request.metadata)
        or _fairness_refusal(request.fairness_key)
        or _timeout_refusal(request, entry)
        or _payload_refusal(request, payload, catalogue)
    )
    if refusal is not None:
        return refusal
    submission = _submission(value, request, entry, payload, key)
    return submission if timing is None else replace(submission, timing=timing)


def _request(value: Any) -> TaskRequest | Refusal:
    if not isinstance(value, dict):
        return invalid("invalid_request", "a task must be a JSON object", "")
    for name in value:
        if name in NOT_YET:
            return invalid("not_supported_yet", f"{name} is not supported yet: omit it", f"/{name}")
        if name not in TaskRequest.__struct_fields__:
            detail = f"there is no field {name!r}"
            return invalid(
                "invalid_request", detail, f"/{name.replace('~', '~0').replace('/', '~1')}"
            )
    if "payload" in value and "payload_ref" in value:
        detail = "a task must have either a payload or a payload_ref, not both"
        return invalid("payload_conflict", detail, "/payload_ref")
    if "type" not in value:
        return invalid("invalid_request", "type is missing: name a deployed type", "/type")
    try:
        return msgspec.convert(value, TaskRequest)
    except msgspec.ValidationError as error:
        return misfit(str(error))


_PATH = re.compile(r" - at `\$(?P<path>[^`]*)`$")


def misfit(message: str) -> Refusal:
    """Return the field of a validation error as a JSON pointer."""
    place = _PATH.search(message)
    steps = re.findall(r"[^.\[\]]+", place["path"]) if place else []
    detail = message[: place.start()] if place else message
    return invalid("invalid_request", detail, "".join(f"/{step}" for step in steps))


def unknown_type(name: str, catalogue: Catalogue) -> Refusal:
    known = ", ".join(entry.name for entry in catalogue.entries())
    detail = f"type {name!r} is not deployed; the deployed types are: {known}"
    return invalid("unknown_type", detail, "/type")


def _key(request: TaskRequest, header_key: str | None) -> str | Refusal | None:
    if header_key is not None and "," in header_key:
        detail = (
            "the header Idempotency-Key was sent twice, or its key contains a comma:"
            " send such a key in the field idempotency_key"
        )
        return invalid("invalid_request", detail, "/idempotency_key")
    keys = [key for key in (request.idempotency_key, header_key) if isinstance(key, str)]
    if len(set(keys)) > 1:
        detail = "the header Idempotency-Key and the field idempotency_key differ"
        return invalid("invalid_request", detail, "/idempotency_key")
    refusals = (key_refusal(key, "/idempotency_key") for key in keys)
    return next(filter(None, refusals), keys[0] if keys else None)


def key_refusal(key: str, pointer: str) -> Refusal | None:
    if len(key) <= LONGEST_KEY and _PRINTABLE.fullmatch(key):
        return None
    detail = f"an idempotency key must have 1 to {LONGEST_KEY} characters of printable ASCII"
    return invalid("invalid_request", detail, pointer)


def metadata_refusal(metadata: Mapping[str, str]) -> Refusal | None:
    if not metadata:
        return None
    size = sum(_size(name) + _size(value) for name, value in metadata.items())
    if len(metadata) > METADATA_ENTRIES or size > METADATA_BYTES:
        detail = (
            f"metadata has {len(metadata)} entries and {size} bytes;"
            f" the limits are {METADATA_ENTRIES} and {METADATA_BYTES}"
        )
        return invalid("invalid_request", detail, "/metadata")
    return None


def _fairness_refusal(key: str | UnsetType) -> Refusal | None:
    if key is UNSET or FAIRNESS_KEY.fullmatch(key):
        return None
    detail = (
        f"fairness_key must have 1 to {LONGEST_FAIRNESS_KEY} characters, and no control characters"
    )
    return invalid("invalid_request", detail, "/fairness_key")


def _size(text: str) -> int:
    """Return the size of *text* as JSON without quotes: a control character takes six bytes."""
    return len(msgspec.json.encode(text)) - 2


def _timeout_refusal(request: TaskRequest, entry: TypeEntry) -> Refusal | None:
    seconds = request.timeout_seconds
    if isinstance(seconds, float) and seconds > entry.longest_timeout_seconds:
        detail = (
            f"timeout_seconds is {seconds:g}; the limit of {entry.name!r} is"
            f" {entry.longest_timeout_seconds:g}: ask for less, or raise LongestTimeout in"
            f" functions/workers/{entry.name}/function.yaml"
        )
        return invalid("invalid_request", detail, "/timeout_seconds")
    return None


def _payload_refusal(request: TaskRequest, payload: Raw, catalogue: Catalogue) -> Refusal | None:
    if request.payload_ref:
        return None  # the worker reads it
    size = len(bytes(payload))
    if size > PAYLOAD_BYTES:
        detail = (
            f"the payload has {size} bytes; the limit is {PAYLOAD_BYTES}:"
            " upload it with POST /v1/payloads, and send its payload_ref"
        )
        return too_large("payload_too_large", detail, "/payload")
    mismatch = catalogue.misfit(request.type, request.payload)
    if mismatch is not None:
        return invalid("invalid_payload", mismatch.why, f"/payload{mismatch.pointer}")
    return None


def _submission(
    value: Mapping[str, Any], request: TaskRequest, entry: TypeEntry, payload: Raw, key: str | None
) -> Submission:
    """Return the request, completed with its type's defaults."""
    fields: dict[str, Any] = {
        "max_attempts": entry.defaults.max_attempts,
        "timeout_seconds": entry.defaults.timeout_seconds,
    }
    fields |= {name: getattr(request, name) for name in _PLAIN_FIELDS if name in value}
    pointer = request.payload_ref
    return Submission(
        **fields,
        type=entry.name,
        payload=payload,
        payload_ref=Pointer(**msgspec.structs.asdict(pointer)) if pointer else None,
        fingerprint=fingerprint(value),
        idempotency_key=key,
        retry=_policy(request.retry, entry.defaults.retry),
        priority=PRIORITIES[
            entry.defaults.priority if request.priority is UNSET else request.priority
        ],
    )


_PLAIN_FIELDS = {*TaskRequest.__struct_fields__} & {*Submission.__struct_fields__} - {
    "type",
    "payload",
    "payload_ref",
    "idempotency_key",
    "retry",
    "priority",
}
"""Fields of a request that the submission takes over unchanged."""


def _policy(request: RetryRequest, usual: RetryPolicy) -> RetryPolicy:
    first, factor, cap = request.first_seconds, request.factor, request.cap_seconds
    return RetryPolicy(
        first_seconds=usual.first_seconds if first is UNSET else first,
        factor=usual.factor if factor is UNSET else factor,
        cap_seconds=usual.cap_seconds if cap is UNSET else cap,
    )


_LATEST_END = 2 * LONGEST_DELAY
_MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def read_timing(
    delay_seconds: float | UnsetType,
    run_at: str | UnsetType,
    expires_at: str | UnsetType,
    *,
    now: Millis,
) -> Timing | Refusal | None:
    """Return the requested times; a delay stays relative until Redis resolves it.

    Past times are not refused: a repeated request must stay the same.
    """
    if delay_seconds is UNSET and run_at is UNSET and expires_at is UNSET:
        return None  # as for most tasks
    begin = read_begin(delay_seconds, run_at, now=now)
    if isinstance(begin, Refusal):
        return begin
    end = _instant("expires_at", expires_at, now=now, within=_LATEST_END)
    if end is None or isinstance(end, Refusal):
        return begin if end is None else end
    if begin is not None and begin.run_at_ms is not None and begin.run_at_ms >= end:
        detail = "`expires_at` must be later than `run_at`"
        return invalid("invalid_request", detail, "/expires_at")
    return replace(begin or Timing(), expires_at_ms=end)


def begins_too_late(timing: Timing | None, *, now: Millis) -> Refusal | None:
    """Return what is wrong with a delay beyond `expires_at`, as of now."""
    if timing is None or timing.delay_ms is None or timing.expires_at_ms is None:
        return None
    if now + timing.delay_ms < timing.expires_at_ms:
        return None
    detail = "`expires_at` must be later than the end of the delay"
    return invalid("invalid_request", detail, "/expires_at")


def read_begin(
    delay_seconds: float | UnsetType, run_at: str | UnsetType, *, now: Millis
) -> Timing | Refusal | None:
    if delay_seconds is UNSET:
        at_ms = _instant("run_at", run_at, now=now, within=LONGEST_DELAY)
        if at_ms is None or isinstance(at_ms, Refusal):
            return at_ms
        return Timing(run_at_ms=at_ms)
    if run_at is not UNSET:
        detail = "give either delay_seconds or run_at, not both"
        return invalid("invalid_request", detail, "/delay_seconds")
    return Timing(delay_ms=math.ceil(delay_seconds * 1000))


def _instant(
    name: str, text: str | UnsetType, *, now: Millis, within: timedelta
) -> Millis | Refusal | None:
    if text is UNSET:
        return None
    try:
        at = datetime.fromisoformat(text.upper()) if _MOMENT.fullmatch(text) else None
    except ValueError:
        at = None
    if at is None:
        detail = f"{name} must be a time with a zone, such as 2026-01-31T12:00:00Z; not {text!r}"
        return invalid("invalid_request", detail, f"/{name}")
    at_ms = -((_EPOCH - at) // _MILLISECOND)
    if at_ms - now > in_ms(within):
        detail = f"{name} may be at most {within.days} days ahead"
        return invalid("invalid_request", detail, f"/{name}")
    return Millis(max(at_ms, 0))
