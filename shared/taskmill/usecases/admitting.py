"""What everybody does who brings submissions to Redis and publishes what it admits."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from taskmill.domain.admission import Cold, Owed, OwedKey, OwedKind, Verdict
from taskmill.domain.control import Sighting
from taskmill.domain.errors import StoreUnavailable
from taskmill.domain.facts import Fact, TaskAdmitted
from taskmill.domain.task import Envelope
from taskmill.ports.admission import Admission


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


def before_the_end(sight: Sighting) -> tuple[Fact, ...]:
    """Return what must be told before the end of a task that waits: all that its turn owes.

    A submission that is owed may not be in the log yet. Of an end without it the ledger could keep
    nothing whole, and whatever else stands in the log under its key would begin a new life.
    """
    owed = sight.owed.get(OwedKind.SUBMISSION)
    admitted = (admission_of(owed.task),) if owed is not None and owed.task is not None else ()
    return (*(fact for kind in OwedKind for fact in sight.owed_facts(kind)), *admitted)
