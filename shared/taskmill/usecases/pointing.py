"""What is too large to travel: checked at the door, fetched for the worker, kept behind it."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from taskmill.domain.delay import due_ms
from taskmill.domain.errors import BlobRefused, StoreUnavailable
from taskmill.domain.outcome import (
    RESULT_LIMIT,
    Misfit,
    Retry,
    Snooze,
    Stored,
    encode_result,
)
from taskmill.domain.pointers import (
    PAYLOAD_MARGIN,
    POINTED_BYTES,
    Blob,
    Pointer,
    payload_key,
    pointer_to,
    result_key,
)
from taskmill.domain.refusal import Refusal, invalid, unavailable
from taskmill.domain.retention import in_ms
from taskmill.domain.submission import Submission
from taskmill.domain.task import DEFAULT_TENANT, Millis
from taskmill.ports.blobs import Blobs
from taskmill.usecases.shop import Task

REST: Final = timedelta(seconds=15)
"""How long a task waits whose payload cannot be fetched, because the bucket is away."""


def missing_payload(
    submission: Submission,
    blobs: Callable[[], Blobs],
    *,
    now: Millis,
    is_known: Callable[[Submission], bool],
) -> Refusal | None:
    """Return what is wrong with a payload that the submission only points at.

    A request that is known already comes later than the first: its task has its time.
    """
    pointer = submission.payload_ref
    if pointer is None:
        return None
    try:
        found = payload_at(pointer, submission.type, DEFAULT_TENANT, blobs())
    except StoreUnavailable as error:
        return unavailable(f"the payload cannot be looked for: {error.store} is away")
    except BlobRefused:  # the bucket or its role is not set up: the request may be right
        return unavailable("the payload cannot be looked for: the bucket refuses to be asked")
    if isinstance(found, str):
        return invalid("payload_missing", found, "/payload_ref")
    begins = due_ms(submission.timing, generation=0, created_at_ms=now) or now
    why = gone_before(found, Millis(max(begins, now)))
    if why is None or is_known(submission):
        return None
    return invalid("payload_missing", why, "/payload_ref")


def gone_before(found: Blob, begins_ms: Millis) -> str | None:
    """Say why a task that begins then may not find its payload, if so."""
    if begins_ms + in_ms(PAYLOAD_MARGIN) <= found.kept_until_ms:
        return None
    kept, begins = (
        datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="seconds")
        for at in (found.kept_until_ms, begins_ms)
    )
    return (
        f"the payload is kept until {kept}, and the task would begin at {begins}, where a day"
        " must be left: upload it again, or let it begin earlier"
    )


def payload_at(pointer: Pointer, task_type: str, tenant: str, blobs: Blobs) -> Blob | str:
    """Return the payload of a task of this type, or say why it cannot have that one."""
    own = blobs.url(payload_key(task_type, tenant, pointer.sha256))
    if pointer.url != own:
        return f"the payload of such a task with this hash is at {own}, once it was uploaded"
    found = blobs.look(own)
    if found is None:
        return f"nothing is at {own}: upload it first, POST /v1/payloads tells how"
    if found.size != pointer.size:
        return f"at {own} are {found.size} bytes, not {pointer.size}"
    return found


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
