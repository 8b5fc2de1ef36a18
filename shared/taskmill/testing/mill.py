"""A queue for tests: the tasks of some workers live their whole life in memory."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, assert_never

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from taskmill.core.backoff import RetryPolicy
from taskmill.core.facts import Fact
from taskmill.core.pointers import Pointer, payload_key, pointer_to
from taskmill.core.task import (
    DEFAULT_TENANT,
    PRIORITIES,
    PRIORITY_NAMES,
    Millis,
    PriorityName,
    Status,
    Submission,
    TaskId,
    TaskType,
    Timing,
    fingerprint,
)
from taskmill.core.time import in_ms
from taskmill.core.view import TaskView
from taskmill.orders.change import ChangeAccepted, WantedChange
from taskmill.submission.payloads import payload_at
from taskmill.submission.submission import (
    Accepted,
    KeyReused,
    NotConfirmed,
    NotTaken,
    Receipt,
    ReplayOf,
    Unreadable,
    as_envelope,
)
from taskmill.testing.clock import MovableClock
from taskmill.testing.refusal import Refused
from taskmill.testing.system import System
from taskmill.worker import Worker

LONGEST_LIFE = timedelta(days=800)
NOTHING = object()
"""Stands for a missing payload."""


class Mill:
    """Maps each type to its worker. Time stands still until it is moved.

    Everything random (ids, half of each back-off) follows from *seed*.
    """

    def __init__(
        self,
        workers: Mapping[str, Worker[Any]],
        *,
        clock: MovableClock | None = None,
        seed: int = 0,
    ) -> None:
        self.system = System(workers, clock=clock, seed=seed)
        self.clock = self.system.clock
        self._workers = dict(workers)

    def submit(  # noqa: PLR0913 - the fields of a request, all named
        self,
        task_type: str,
        payload: Any = NOTHING,
        *,
        payload_ref: Pointer | None = None,
        key: str | None = None,
        max_attempts: int | None = None,
        timeout: timedelta | None = None,
        retry: RetryPolicy | None = None,
        metadata: Mapping[str, str] | None = None,
        priority: PriorityName | int | None = None,
        fairness_key: str | None = None,
        delay: timedelta | None = None,
        run_at: datetime | None = None,
        expires_at: datetime | None = None,
    ) -> "Life":
        """Submit a task as a client would; `run` or `pass_time` then lets it run.

        The payload is JSON, a value of the worker's payload type, or a reference to an upload.
        """
        if task_type not in self._workers:
            raise Refused(
                f"type {task_type!r} has no worker here; there are: {', '.join(self._workers)}"
            )
        plain = self._checked(task_type, payload, payload_ref)
        defaults = self._workers[task_type].defaults
        timing = _timing(delay, run_at, expires_at)
        options: dict[str, object] = {"max_attempts": max_attempts, "timeout": timeout}
        options |= {"metadata": metadata, "timing": timing, "payload_ref": payload_ref}
        options |= {"priority": priority, "fairness_key": fairness_key}
        submission = Submission(
            type=TaskType(task_type),
            payload=Raw(msgspec.json.encode(plain)),
            idempotency_key=key,
            max_attempts=max_attempts or defaults.max_attempts,
            timeout_seconds=timeout.total_seconds() if timeout else defaults.timeout_seconds,
            retry=retry or defaults.retry,
            metadata=metadata or {},
            timing=timing,
            priority=PRIORITIES[defaults.priority if priority is None else priority],
            fairness_key=fairness_key,
            fingerprint=fingerprint(
                {"type": task_type, "payload": plain, "retry": retry, **options}
            ),
            payload_ref=payload_ref,
        )
        entropy = self.system.chance.randbytes(16)
        envelope = as_envelope(submission, now=self.clock(), entropy=entropy)
        (receipt,) = self.system.submit([envelope])
        return Life(self.system, _id_of(receipt))

    def upload(self, task_type: str, content: bytes) -> Pointer:
        """Upload a payload for tasks of this type as a client would, and return the reference."""
        pointer = pointer_to("", content)
        key = payload_key(task_type, DEFAULT_TENANT, pointer.sha256)
        self.system.stores.bucket.write(key, content)
        return replace(pointer, url=self.system.stores.bucket.url(key))

    def _checked(self, task_type: str, payload: Any, payload_ref: Pointer | None) -> Any:
        """Return the payload as plain values, or refuse it as the gateway would."""
        if payload_ref is not None:
            if payload is not NOTHING:
                raise Refused("a task must have either a payload or a payload_ref, not both")
            bucket = self.system.stores.blobs
            blob = payload_at(payload_ref, task_type, DEFAULT_TENANT, bucket)
            if isinstance(blob, str):
                raise Refused(blob)
            return None
        plain = {} if payload is NOTHING else msgspec.to_builtins(payload)
        misfit = self.system.stores.catalogue.misfit(task_type, plain)
        if misfit is not None:
            raise Refused(f"the payload does not fit at {misfit.pointer or '/'}: {misfit.why}")
        return plain

    def run(self) -> None:
        """Let everything happen that can happen now."""
        self.system.run()

    def pass_time(self, span: timedelta) -> None:
        """Let time pass, with everything in it at its time: retries, snoozes, timeouts."""
        self.system.pass_time(span)

    def run_to_end(self) -> None:
        """Let time pass until every task has ended."""
        until = self.clock.now + LONGEST_LIFE
        self.run()
        while (due_ms := self.system.next_due_ms()) is not None:
            self.clock.move_to(due_ms)
            if self.clock.now > until:
                raise RuntimeError("a task has not ended within two years")
            self.run()


class Life:
    """The current state of a task."""

    def __init__(self, system: System, task_id: TaskId) -> None:
        self.id = task_id
        self._system = system

    def __repr__(self) -> str:
        return f"<task {self.id}: {self.status}, attempt {self.attempt}>"

    @property
    def status(self) -> Status:
        return self._view.status

    @property
    def attempt(self) -> int:
        return self._view.attempt

    @property
    def losses(self) -> int:
        return self._view.losses

    @property
    def result(self) -> Any:
        """The worker's result, as a client reads it; None until it succeeded."""
        encoded: bytes | None = self._view.result
        if (pointer := self.result_ref) is not None:
            encoded = self._system.stores.blobs.read(pointer.url, most=pointer.size)
        return None if encoded is None else msgspec.json.decode(encoded)

    @property
    def result_ref(self) -> Pointer | None:
        """Where the result is stored, if it is too large to be inline."""
        ending = self._view.ending
        return ending.result_ref if ending else None

    @property
    def content(self) -> bytes | None:
        """The object at `result_ref`, such as an image that the worker stored."""
        pointer = self.result_ref
        return (
            None
            if pointer is None
            else self._system.stores.blobs.read(pointer.url, most=pointer.size)
        )

    @property
    def reason(self) -> str | None:
        """Why it is dead or waits for its next attempt, such as `failed`, `timeout`, `snoozed`."""
        state = self._view.ending or self._view.waiting
        return state.reason if state else None

    @property
    def error(self) -> str | None:
        """The message of the latest failure."""
        state = self._view.ending or self._view.waiting
        return state.error_message if state else None

    @property
    def run_at(self) -> datetime | None:
        """When it should start, if it was submitted or changed with a time."""
        run_at_ms = self._view.run_at_ms
        return None if run_at_ms is None else datetime.fromtimestamp(run_at_ms / 1000, UTC)

    @property
    def priority(self) -> PriorityName:
        return PRIORITY_NAMES[self._view.spec.priority]

    @property
    def next_attempt_at(self) -> datetime | None:
        waiting = self._view.waiting
        return datetime.fromtimestamp(waiting.due_at_ms / 1000, UTC) if waiting else None

    @property
    def facts(self) -> Sequence[Fact]:
        """The facts about it so far, in order; each once, though the log may have duplicates."""
        facts: list[Fact] = []
        for fact in self._system.stores.log.facts():
            if fact.id == self.id and fact not in facts:
                facts.append(fact)
        return facts

    def cancel(self) -> None:
        """Cancel it as a client would; a running task learns of it at its next heartbeat."""
        self._system.cancel(self.id)

    def change(
        self,
        *,
        delay: timedelta | None = None,
        run_at: datetime | None = None,
        metadata: Mapping[str, str] | None = None,
        priority: PriorityName | int | None = None,
    ) -> None:
        """Change its time, priority or metadata while it waits, as a client would."""
        timing = _timing(delay, run_at, None) or Timing()
        request = WantedChange(
            run_at_ms=timing.run_at_ms,
            delay_ms=timing.delay_ms,
            metadata=metadata,
            priority=None if priority is None else PRIORITIES[priority],
        )
        answer = self._system.change(self.id, request)
        if not isinstance(answer, ChangeAccepted):
            raise Refused(f"it cannot be changed: {answer}")

    def redrive(self) -> None:
        """Redrive it as an operator would, when it is dead or cancelled."""
        self._system.redrive(self.id)

    @property
    def _view(self) -> TaskView:
        finding = self._system.find(self.id)
        if isinstance(finding, TaskView):
            return finding
        raise LookupError(f"task {self.id} cannot be found: {finding}")


def _timing(
    delay: timedelta | None, run_at: datetime | None, expires_at: datetime | None
) -> Timing | None:
    if delay is not None and run_at is not None:
        raise Refused("give either delay or run_at, not both")
    if (delay, run_at, expires_at) == (None, None, None):
        return None
    return Timing(
        delay_ms=None if delay is None else max(in_ms(delay), 0),
        run_at_ms=_moment(run_at),
        expires_at_ms=_moment(expires_at),
    )


def _moment(at: datetime | None) -> Millis | None:
    if at is None:
        return None
    if at.tzinfo is None:
        raise Refused(f"a time needs its zone: {at.isoformat()}")
    return Millis(round(at.timestamp() * 1000))


def _id_of(receipt: Receipt) -> TaskId:
    match receipt:
        case Accepted(task=task) | ReplayOf(task=task):
            return task.id
        case KeyReused(task_id):
            raise Refused(f"this key was already used by a different request, for task {task_id}")
        case NotTaken() | NotConfirmed() | Unreadable():
            raise Refused("a store is set to be unavailable")
        case _:
            assert_never(receipt)
