"""Fetches large payloads for workers, and stores large results."""

from typing import Any

import msgspec

from taskmill.core.errors import BlobRefused, StoreUnavailable
from taskmill.core.pointers import POINTED_BYTES, Pointer, pointer_to, result_key
from taskmill.execution.context import Task
from taskmill.execution.outcome import RESULT_LIMIT, Misfit, Retry, Snooze, Stored, encode_result
from taskmill.submission.payloads import REST
from taskmill.submission.ports import Blobs


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
