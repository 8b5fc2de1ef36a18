"""What everybody does who brings submissions to Redis and publishes what it admits."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from taskmill.core.errors import StoreUnavailable
from taskmill.core.facts import TaskAdmitted
from taskmill.core.owed import Cold, Owed, OwedKey, OwedKind
from taskmill.core.task import Envelope
from taskmill.submission.admission import Verdict
from taskmill.submission.ports import Admission


class Publication(Struct, frozen=True):
    """What is to stand in `tasks.pending`, and the name under which Redis owes it until then."""

    task: Envelope
    owed: OwedKey


def verdicts_of(envelopes: Sequence[Envelope], admission: Admission) -> Sequence[Verdict]:
    """Return what Redis says; when it cannot be asked, that is as if it had forgotten."""
    try:
        return admission.admit(envelopes)
    except StoreUnavailable:
        return [Cold()] * len(envelopes)


def own(envelope: Envelope, generation: int) -> Publication:
    admitted = replace(envelope, generation=generation)
    return Publication(admitted, owed_submission(admitted))


def of_the_first(owed: Owed | None) -> Publication | None:
    """Return what the first request under a key still owes: its author may be dead.

    A redriven task is owed with the facts that ended the task before: the scheduler publishes
    both, and the log knew the submission before.
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
