"""Builds values for tests; a test names only what matters to it."""

import os
import time
from datetime import UTC, datetime, timedelta

from msgspec import Raw

from taskmill.core.facts import (
    AttemptLost,
    CancelRequested,
    SubmissionDropped,
    TaskAdmitted,
    TaskCancelled,
    TaskChanged,
    TaskDeferred,
    TaskDied,
    TaskShelved,
    TaskStarted,
    TaskSucceeded,
)
from taskmill.core.log import LogRecord, Position
from taskmill.core.task import Envelope, Millis, Status, TaskId, TaskType, keyed_id, unkeyed_id
from taskmill.core.view import Ending
from taskmill.execution.lease import Claim, Lease, Settlement
from taskmill.execution.outcome import Attempt
from taskmill.lanes.lane import place_of
from taskmill.testing import MovableClock

NOW = Millis(1_800_000_000_000)
ECHO = TaskType("echo")
TASK = TaskId("01a31edd-2c00-7000-8000-000000000001")


def a_clock(at_ms=NOW):
    return MovableClock(datetime.fromtimestamp(at_ms / 1000, UTC))


def now_ms():
    return Millis(time.time_ns() // 1_000_000)


def a_new_id():
    return unkeyed_id(now_ms(), os.urandom(16))


def an_envelope(**changes):
    values = {
        "generation": NOW,
        "id": TASK,
        "submission": "a request",
        "type": ECHO,
        "payload": Raw(b'{"say":"hello"}'),
        "fingerprint": "f1",
        "created_at_ms": NOW,
        "max_attempts": 4,
        "timeout_seconds": 30.0,
        "metadata": {},
    }
    return Envelope(**values | changes)


def a_fresh_envelope(**changes):
    """Return a task created now: the real stores use their own clocks."""
    now = now_ms()
    return an_envelope(
        **{"id": a_new_id(), "generation": now, "created_at_ms": now, "submission": "s1"} | changes
    )


def a_request(key=None, **changes):
    """Return a submission before it is admitted: without a generation."""
    named = {"id": keyed_id("default", ECHO, key), "idempotency_key": key} if key else {}
    return a_fresh_envelope(**{"generation": 0} | named | changes)


def a_position(offset=0, *, topic="tasks.worker.echo", partition=0):
    return Position(topic, partition, offset)


def a_log_record(value, at=None, **headers):
    """Return a record of the log as a function receives it."""
    octets = {name: answer.encode() for name, answer in headers.items()}
    return LogRecord(position=at or a_position(), at_ms=NOW, value=value, headers=octets)


def a_source(number=0, index=0):
    """Return the name of a take."""
    return f"take {number}.{index}"


NEVER = 2**52
"""A look that no clock of a test reaches."""


def a_claim(envelope, *, source=None, look=NEVER, alone=False, timeout=timedelta(seconds=30)):
    return Claim(
        envelope=envelope,
        source=source or a_source(),
        look=look,
        timeout=timeout,
        alone=alone,
    )


def a_lease(envelope, token, *, source="somebody", is_sure=True):
    return Lease(
        id=envelope.id,
        generation=envelope.generation,
        turn=envelope.turn,
        token=token,
        source=source,
        is_sure=is_sure,
    )


def an_attempt(envelope=None, **changes):
    values = {"envelope": envelope or an_envelope(), "token": 7, "losses": 0, "started_at_ms": NOW}
    return Attempt(**values | changes)


def _told(envelope, /, **values):
    return {
        "id": envelope.id,
        "generation": envelope.generation,
        "turn": envelope.turn,
        "at_ms": Millis(envelope.created_at_ms + 50),
        "type": envelope.type,
        "tenant": envelope.tenant,
    } | values


def _tried(envelope, /, **values):
    tried = {
        "attempt": envelope.attempt,
        "token": 7,
        "losses": 0,
        "started_at_ms": Millis(envelope.created_at_ms + 10),
    }
    return _told(envelope, **tried | values)


def admitted(envelope, **changes):
    return TaskAdmitted(**_told(envelope, envelope=envelope) | changes)


def changed(envelope, **changes):
    return TaskChanged(**_told(envelope, envelope=envelope) | changes)


def dropped(envelope, **changes):
    answer = {"submission": envelope.submission, "verdict": "replayed"}
    return SubmissionDropped(**_told(envelope, **answer) | changes)


def started(envelope, **changes):
    return TaskStarted(**_tried(envelope, **changes))


def lost(envelope, **changes):
    return AttemptLost(**_tried(envelope, **changes))


def deferred(envelope, **changes):
    later = {
        "due_at_ms": Millis(envelope.created_at_ms + 1000),
        "next_attempt": envelope.attempt + 1,
        "reason": "failed",
        "error_class": "Retry",
        "error_message": "busy",
    }
    return TaskDeferred(**_tried(envelope, **later | changes))


def shelved(envelope, **changes):
    place = place_of(envelope)
    return TaskShelved(**_told(envelope, line=place.line, order=place.order) | changes)


def cancel_requested(envelope, **changes):
    return CancelRequested(**_told(envelope, **changes))


def succeeded(envelope, **changes):
    return TaskSucceeded(**_tried(envelope, **{"result": Raw(b'"hello"')} | changes))


def died(envelope, **changes):
    why = {"reason": "failed", "error_class": "ValueError", "error_message": "no"}
    return TaskDied(**_tried(envelope, **why | changes))


def cancelled(envelope, **changes):
    return TaskCancelled(**_tried(envelope, **changes))


def a_death(envelope, token, **changes):
    """Return the settlement of an attempt that ended in its task's death."""
    fact = died(envelope, token=token)
    ending = Ending(
        finished_at_ms=fact.at_ms,
        reason=fact.reason,
        error_class=fact.error_class,
        error_message=fact.error_message,
    )
    values = {"status": Status.DEAD, "facts": (fact,), "ending": ending, "result": None}
    return a_success(envelope, token, **values | changes)


def a_success(envelope, token, **changes):
    """Return the settlement of an attempt that succeeded."""
    fact = succeeded(envelope, token=token)
    values = {
        "envelope": envelope,
        "token": token,
        "status": Status.SUCCEEDED,
        "facts": (fact,),
        "ending": Ending(finished_at_ms=fact.at_ms),
        "result": bytes(fact.result),
    }
    return Settlement(**values | changes)
