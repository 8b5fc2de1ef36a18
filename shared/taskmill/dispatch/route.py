"""Routes what stands in `tasks.pending` to the topics of the workers."""

from collections.abc import Callable, Sequence
from typing import assert_never

from msgspec import Struct, field

from taskmill.core import codec
from taskmill.core.codec import Sealed
from taskmill.core.errors import StoreUnavailable
from taskmill.core.facts import Fact, SubmissionDropped
from taskmill.core.log import Position
from taskmill.core.owed import Cold, Owed, OwedKey
from taskmill.core.ports import Bus
from taskmill.core.task import Envelope, TaskType
from taskmill.core.timing import is_delayed
from taskmill.execution.arrivals import SealedArrival
from taskmill.submission.admission import AdmittedBefore, Conflict, Created, Replayed, Verdict
from taskmill.submission.ports import Admission
from taskmill.submission.publish import admission_of, of_the_first, owed_submission, verdicts_of


def dispatch(
    arrivals: Sequence[SealedArrival],
    *,
    knows: Callable[[TaskType], bool],
    admission: Admission,
    bus: Bus,
) -> set[Position]:
    """Publish each arrival to its worker's topic; return the positions that must come again.

    What is admitted only here and has no worker, or waits for its time, goes back into
    `tasks.pending`, as admitted: it is then a task like any other of its kind.
    """
    routing = _Routing(knows, admission, bus)
    deferred = [arrival for arrival in arrivals if arrival.envelope.deferred]
    routing.envelopes += [one.sealed for one in arrivals if not one.envelope.deferred]
    for arrival, verdict in zip(deferred, routing.verdicts(deferred), strict=True):
        routing.weigh(arrival, verdict)
    routing.publish()
    return routing.failed


class _Routing(Struct):
    knows: Callable[[TaskType], bool]
    admission: Admission
    bus: Bus
    envelopes: list[Sealed] = field(default_factory=list)
    pending: list[Envelope | Sealed] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    owed: list[OwedKey] = field(default_factory=list)
    failed: set[Position] = field(default_factory=set)

    def verdicts(self, deferred: Sequence[SealedArrival]) -> Sequence[Verdict]:
        return verdicts_of([arrival.envelope for arrival in deferred], self.admission)

    def weigh(self, arrival: SealedArrival, verdict: Verdict) -> None:
        match verdict:
            case Created(generation) | AdmittedBefore(generation, _):
                self._admit(codec.amended(arrival.sealed, generation=generation, deferred=False))
            case Replayed(generation, owed):
                self._drop(arrival.envelope, generation, owed, "replayed")
            case Conflict(generation, owed):
                self._drop(arrival.envelope, generation, owed, "conflict")
            case Cold():
                self.failed.add(arrival.source.position)
            case _:
                assert_never(verdict)

    def _admit(self, sealed: Sealed) -> None:
        envelope = sealed.envelope
        if self.knows(envelope.type) and not is_delayed(envelope):
            self.envelopes.append(sealed)
        else:
            self.pending.append(sealed)
        self.owed.append(owed_submission(envelope))
        self.facts.append(admission_of(envelope))

    def _drop(self, envelope: Envelope, generation: int, owed: Owed | None, verdict: str) -> None:
        """Drop a second submission; first publish what the first may not have published."""
        first = of_the_first(owed)
        if first is not None:
            self.pending.append(first.task)
            self.owed.append(first.owed)
        self.facts.append(
            SubmissionDropped(
                id=envelope.id,
                generation=generation,
                turn=1,
                at_ms=envelope.created_at_ms,
                type=envelope.type,
                tenant=envelope.tenant,
                submission=envelope.submission,
                verdict=verdict,
            )
        )

    def publish(self) -> None:
        self.bus.send_pending(self.pending)
        self.bus.send_facts(self.facts)
        self.bus.send_work(self.envelopes)
        self.bus.flush()
        try:
            self.admission.clear(self.owed)
        except StoreUnavailable:
            return  # the scheduler publishes it once more, and claim drops the second copy
