"""Performs one task once, without a queue."""

import asyncio
import inspect
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, TypeVar

import msgspec
from msgspec import Raw

from taskmill.core.pointers import POINTED_BYTES
from taskmill.core.task import Envelope, TaskType, unkeyed_id
from taskmill.core.time import in_ms
from taskmill.execution.context import Running, Task
from taskmill.execution.outcome import Attempt, Outcome, Succeeded, encode_result
from taskmill.lanes.lane import Leave, member_of
from taskmill.stores.memory.blobs import MemoryBlobs
from taskmill.testing.clock import MovableClock
from taskmill.testing.refusal import Refused
from taskmill.worker import Worker

P = TypeVar("P")


def perform(  # noqa: PLR0913 - the attributes of a task, all named
    worker: Worker[P],
    payload: P | Any,
    *,
    attempt: int = 1,
    cancelled: bool = False,
    metadata: Mapping[str, str] | None = None,
    clock: MovableClock | None = None,
    stored: dict[str, bytes] | None = None,
) -> Outcome:
    """Perform one attempt and return its outcome; what the worker raises comes through.

    The payload is JSON, or a value of the payload type: it is encoded and decoded as on its way
    through the queue. A result that is no JSON is a ValueError, since it would be no success. What
    the worker stores is put into *stored*, by its URL.

    >>> from dataclasses import dataclass
    >>> from taskmill.worker import serve
    >>> @dataclass
    ... class Greeting:
    ...     name: str
    >>> perform(serve(Greeting, lambda greeting: f"hello {greeting.name}"), {"name": "Ada"})
    Succeeded(result='hello Ada')
    """
    raw = Raw(msgspec.json.encode(payload))
    try:
        decoded = worker.decode(raw)
    except msgspec.ValidationError as error:
        raise Refused(f"the payload does not fit: {error}") from error
    envelope = _envelope(worker, raw, attempt, metadata or {}, clock or MovableClock())
    bucket = MemoryBlobs()
    if stored is not None:
        bucket.contents = stored
    task = _task(envelope, is_cancelled=cancelled).with_bucket(lambda: bucket)
    answer = worker.perform(decoded, task) if worker.takes_task else worker.perform(decoded)
    if inspect.iscoroutine(answer):
        answer = asyncio.run(answer)
    outcome = answer if isinstance(answer, Outcome) else Succeeded(answer)
    if isinstance(outcome, Succeeded):
        encode_result(outcome.result, limit=POINTED_BYTES)
    return outcome


def _envelope(
    worker: Worker[Any],
    payload: Raw,
    attempt: int,
    metadata: Mapping[str, str],
    clock: MovableClock,
) -> Envelope:
    return Envelope(
        generation=clock(),
        id=unkeyed_id(clock(), bytes(16)),
        turn=attempt,
        attempt=attempt,
        submission="a test",
        type=TaskType("alone"),
        payload=payload,
        fingerprint="",
        created_at_ms=clock(),
        max_attempts=worker.defaults.max_attempts,
        timeout_seconds=worker.defaults.timeout_seconds,
        retry=worker.defaults.retry,
        metadata=metadata,
    )


def _task(envelope: Envelope, *, is_cancelled: bool) -> Task:
    timeout = timedelta(seconds=envelope.timeout_seconds)
    now = envelope.created_at_ms
    return Task(
        Running(
            attempt=Attempt(envelope=envelope, token=1, losses=0, started_at_ms=now),
            source="",
            leave=Leave(member_of(envelope), ""),
            timeout=timeout,
            deadline_ms=now + in_ms(timeout),
            answered_at_ms=now,
            ahead_ms=0,
            unreported=(),
            cancel_requested=is_cancelled,
        )
    )
