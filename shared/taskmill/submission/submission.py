"""From a submission to its envelope, its publication and its receipt."""

from collections.abc import Sequence
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import asdict, replace

from taskmill.core.errors import StoreUnavailable
from taskmill.core.facts import TaskAdmitted
from taskmill.core.owed import Cold, Owed, OwedKey, OwedKind
from taskmill.core.task import (
    Envelope,
    Millis,
    Status,
    Submission,
    TaskId,
    keyed_id,
    shown,
    unkeyed_id,
)
from taskmill.core.time import is_delayed
from taskmill.core.view import TaskView
from taskmill.submission.admission import Verdict
from taskmill.submission.ports import Admission


def as_envelope(submission: Submission, *, now: Millis, entropy: bytes, index: int = 0) -> Envelope:
    """Return the envelope; *entropy* names an unkeyed task and distinguishes requests.

    A request that may be read more than once must bring the same entropy each time. *index* is its
    place in the batch that was sent.
    """
    unkeyed = unkeyed_id(now, entropy)
    return named(submission, unkeyed, nonce=entropy.hex(), now=now, index=index)


def named(
    submission: Submission, unkeyed: TaskId, *, nonce: str, now: Millis, index: int = 0
) -> Envelope:
    """Return the envelope, under the id of its key if it has one, otherwise the given one.

    The *nonce* distinguishes requests: a repeated reading must bring the same nonce, name and time.
    """
    key = submission.idempotency_key
    return Envelope(
        generation=0,
        id=keyed_id(submission.tenant, submission.type, key) if key else unkeyed,
        submission=nonce,
        created_at_ms=now,
        index=index,
        **asdict(submission),
    )


def view_of(envelope: Envelope) -> TaskView:
    """Return what readers see of a task that was just accepted."""
    return TaskView(
        id=envelope.id,
        spec=shown(envelope),
        status=Status.SCHEDULED if is_delayed(envelope) else Status.QUEUED,
        generation=envelope.generation,
        attempt=envelope.attempt,
        losses=0,
        started_at_ms=None,
        ending=None,
        result=None,
    )


class Accepted(Struct, frozen=True):
    """The log has it. With `is_deferred`, Redis could not say whether the key was taken."""

    task: TaskView
    is_deferred: bool
    is_spilled: bool = False
    """True when the log is unavailable and the outbox has it."""


class ReplayOf(Struct, frozen=True):
    """An identical request came before; this is its task's current state."""

    task: TaskView

    @property
    def is_deferred(self) -> bool:
        """Whether Redis still has to confirm the key and to assign a generation."""
        return self.task.generation == 0


class KeyReused(Struct, frozen=True):
    """A different request came before under this key."""

    id: TaskId


class NotTaken(Struct, frozen=True):
    """Neither the log nor the outbox accepted it, and nothing was decided: it is nowhere."""


class NotConfirmed(Struct, frozen=True):
    """The log did not confirm it: it may be there anyway, or be published later."""


class Unreadable(Struct, frozen=True):
    """An identical request came before, but its task cannot be read now."""


Receipt: TypeAlias = Accepted | ReplayOf | KeyReused | NotTaken | NotConfirmed | Unreadable


class Entry(StrEnum):
    """How a request came into the log."""

    CREATED = "created"
    KNOWN = "known"
    """It was taken before and was redelivered."""
    REPLAYED = "replayed"


class InLog(Struct, frozen=True):
    """The log has it: nothing remains to be done."""

    id: TaskId
    entry: Entry


class NotNow(Struct, frozen=True):
    """Nothing was decided that is not owed: the same request must be retried."""

    why: str


Taken: TypeAlias = InLog | KeyReused | NotNow
"""The result for a request that is stored durably."""


class Publication(Struct, frozen=True):
    """A message for `tasks.pending`, and the name under which Redis owes it until then."""

    task: Envelope
    owed: OwedKey


def verdicts_of(envelopes: Sequence[Envelope], admission: Admission) -> Sequence[Verdict]:
    """Return Redis's answers; an unavailable Redis counts as one that lost its data."""
    try:
        return admission.admit(envelopes)
    except StoreUnavailable:
        return [Cold()] * len(envelopes)


def own(envelope: Envelope, generation: int) -> Publication:
    admitted = replace(envelope, generation=generation)
    return Publication(admitted, owed_submission(admitted))


def of_the_first(owed: Owed | None) -> Publication | None:
    """Return what the first request under a key still owes: its process may be dead.

    A redriven task is owed with the facts that ended the previous one: the scheduler publishes
    both, and its submission is already in the log.
    """
    if owed is None or owed.task is None or owed.facts:
        return None
    return Publication(owed.task, owed_submission(owed.task))


def owed_submission(envelope: Envelope) -> OwedKey:
    return OwedKey(id=envelope.id, generation=envelope.generation, turn=1, kind=OwedKind.SUBMISSION)


def admission_of(envelope: Envelope) -> TaskAdmitted:
    return TaskAdmitted(
        id=envelope.id,
        generation=envelope.generation,
        turn=envelope.turn,
        at_ms=envelope.created_at_ms,
        type=envelope.type,
        tenant=envelope.tenant,
        envelope=envelope,
    )
