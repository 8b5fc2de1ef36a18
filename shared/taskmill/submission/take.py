"""Takes tasks from durably stored requests, which are retried until then."""

from collections.abc import Sequence
from typing import assert_never

from msgspec import Struct

from taskmill.core.errors import StoreUnavailable, Unpublishable
from taskmill.core.owed import Cold
from taskmill.core.ports import Bus
from taskmill.core.task import Envelope
from taskmill.submission.admission import AdmittedBefore, Conflict, Created, Replayed, Verdict
from taskmill.submission.halving import publish_in_halves
from taskmill.submission.ports import Admission
from taskmill.submission.submission import (
    Entry,
    InLog,
    KeyReused,
    NotNow,
    Publication,
    Taken,
    of_the_first,
    own,
    verdicts_of,
)


def take(envelopes: Sequence[Envelope], *, admission: Admission, bus: Bus) -> list[Taken]:
    """Return the result for each envelope, which must be the same whenever its request is read.

    Nobody waits for an answer here, and the request is stored safely. So nothing is deferred or put
    into the outbox: what cannot be taken is retried later.
    """
    # Ask before Redis decides: otherwise it would owe messages that wait for the log.
    if bus.is_shut():
        return [NotNow("the log is unavailable")] * len(envelopes)
    verdicts = verdicts_of(envelopes, admission)
    steps = [_step(*pair) for pair in zip(envelopes, verdicts, strict=True)]
    _publish(steps, admission, bus)
    return [step.taken for step in steps]


class _Step(Struct):
    taken: Taken
    publication: Publication | None = None


def _step(envelope: Envelope, verdict: Verdict) -> _Step:
    match verdict:
        case Created(generation):
            return _Step(InLog(envelope.id, Entry.CREATED), own(envelope, generation))
        case AdmittedBefore(_, owed):
            return _Step(InLog(envelope.id, Entry.KNOWN), of_the_first(owed))
        case Replayed(_, owed):
            return _Step(InLog(envelope.id, Entry.REPLAYED), of_the_first(owed))
        case Conflict():
            return _Step(KeyReused(envelope.id))
        case Cold():
            return _Step(NotNow("Redis is unavailable"))
        case _:
            assert_never(verdict)


def _publish(steps: Sequence[_Step], admission: Admission, bus: Bus) -> None:
    """Publish what the steps need; what does not reach the log stays owed and is not taken."""
    waiting = [step for step in steps if step.publication is not None]

    def send(some: Sequence[_Step]) -> None:
        bus.send_pending([step.publication.task for step in some if step.publication])
        bus.flush()

    left = list(waiting)
    try:
        for some, refusal in publish_in_halves(waiting, send):
            left = left[len(some) :]
            if refusal is None:
                _clear(some, admission)
            else:
                _put_off(some, refusal)
    except StoreUnavailable as error:
        _put_off(left, error)


def _put_off(steps: Sequence[_Step], error: StoreUnavailable | Unpublishable) -> None:
    for step in steps:
        step.taken = NotNow(str(error))


def _clear(steps: Sequence[_Step], admission: Admission) -> None:
    try:
        admission.clear([step.publication.owed for step in steps if step.publication])
    except StoreUnavailable:
        return  # the scheduler publishes it again, and claim drops the duplicate
