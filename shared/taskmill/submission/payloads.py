"""Large payloads: checked at submission, fetched for the worker."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from taskmill.core.errors import BlobRefused, StoreUnavailable
from taskmill.core.pointers import (
    PAYLOAD_MARGIN,
    Blob,
    Pointer,
    payload_key,
)
from taskmill.core.refusal import Refusal, invalid, unavailable
from taskmill.core.task import DEFAULT_TENANT, Millis, Submission
from taskmill.core.time import due_ms, in_ms
from taskmill.submission.ports import Blobs

REST: Final = timedelta(seconds=15)
"""How long a task waits when the bucket with its payload is unavailable."""


def missing_payload(
    submission: Submission,
    blobs: Callable[[], Blobs],
    *,
    now: Millis,
    is_known: Callable[[Submission], bool],
) -> Refusal | None:
    """Return what is wrong with an uploaded payload.

    A repeated request comes later than the first, but its task keeps its time.
    """
    pointer = submission.payload_ref
    if pointer is None:
        return None
    try:
        blob = payload_at(pointer, submission.type, DEFAULT_TENANT, blobs())
    except StoreUnavailable as error:
        return unavailable(f"the payload cannot be looked up: {error.store} is unavailable")
    except BlobRefused:  # the bucket or its role is not set up: the request may be right
        return unavailable("the payload cannot be looked up: the bucket refuses access")
    if isinstance(blob, str):
        return invalid("payload_missing", blob, "/payload_ref")
    begins = due_ms(submission.timing, generation=0, created_at_ms=now) or now
    why = gone_before(blob, Millis(max(begins, now)))
    if why is None or is_known(submission):
        return None
    return invalid("payload_missing", why, "/payload_ref")


def gone_before(blob: Blob, begins_ms: Millis) -> str | None:
    """Return why a task that starts then may not find its payload, if so."""
    if begins_ms + in_ms(PAYLOAD_MARGIN) <= blob.kept_until_ms:
        return None
    end, begins = (
        datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="seconds")
        for at in (blob.kept_until_ms, begins_ms)
    )
    return (
        f"the payload is kept until {end}, less than a day after the task would start at {begins}:"
        " upload it again, or start the task earlier"
    )


def payload_at(pointer: Pointer, task_type: str, tenant: str, blobs: Blobs) -> Blob | str:
    """Return the payload of a task of this type, or why it cannot have that one."""
    own = blobs.url(payload_key(task_type, tenant, pointer.sha256))
    if pointer.url != own:
        return f"a payload of this type with this hash is stored at {own} after its upload"
    blob = blobs.look(own)
    if blob is None:
        return f"there is nothing at {own}: upload it first with POST /v1/payloads"
    if blob.size != pointer.size:
        return f"the object at {own} has {blob.size} bytes, not {pointer.size}"
    return blob
