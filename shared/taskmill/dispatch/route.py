"""Routes tasks from `tasks.pending` to the topics of their workers."""

from collections.abc import Callable, Sequence
from typing import Protocol, assert_never

from msgspec import Struct, field

from taskmill.core import codec
from taskmill.core.codec import RawEnvelope
from taskmill.core.errors import StoreUnavailable
from taskmill.core.facts import Fact, SubmissionDropped
from taskmill.core.log import LogRecord, Position
from taskmill.core.owed import Cold, Owed, OwedKey
from taskmill.core.ports import Bus
from taskmill.core.task import Envelope, TaskType
from taskmill.core.time import is_delayed
from taskmill.dispatch.delay import delay, park, waits
from taskmill.dispatch.ports import Delays, Parking
from taskmill.execution.claim import RawArrival, open_raw_arrivals
from taskmill.execution.context import RunContext
from taskmill.execution.execute import execute
from taskmill.execution.outcome import UnknownType
from taskmill.submission.admission import AdmittedBefore, Conflict, Created, Replayed, Verdict
from taskmill.submission.ports import Admission, Catalogue
from taskmill.submission.submission import admission_of, of_the_first, owed_submission, verdicts_of


class DispatchStores(Protocol):
    """Ports for routing."""

    @property
    def admission(self) -> Admission: ...

    @property
    def bus(self) -> Bus: ...

    @property
    def catalogue(self) -> Catalogue: ...

    @property
    def delays(self) -> Delays: ...

    @property
    def parking(self) -> Parking: ...


class Dispatch:
    """The dispatcher's work on a batch of `tasks.pending`."""

    def __init__(self, stores: DispatchStores) -> None:
        self._stores = stores

    def route(self, records: Sequence[LogRecord], run_context: RunContext) -> set[Position]:
        """Route each task to its worker; return the positions to retry.

        A task that waits for its time is owed by the due set, and so is a task of a type without a
        worker; the run context ends the latter when it has waited too long.
        """
        arrivals = open_raw_arrivals(records, self._stores.bus)
        waiting, ready = _parted(arrivals, lambda one: waits(one.envelope))
        failed = delay(waiting, self._stores.delays)
        routable, unknown = _parted(ready, self._has_a_way)
        parkings = park(unknown, self._stores.parking)
        failed |= self._publish(routable)
        return failed | parkings.failed | _bury(parkings.over, run_context)

    def _has_a_way(self, arrival: RawArrival) -> bool:
        """Return whether to route a task now; one that is not admitted yet is."""
        return arrival.envelope.deferred or self._knows(arrival.envelope.type)

    def _knows(self, task_type: TaskType) -> bool:
        return self._stores.catalogue.entry(task_type) is not None

    def _publish(self, arrivals: Sequence[RawArrival]) -> set[Position]:
        """Publish each arrival to its worker's topic; return the positions to retry.

        A task admitted only here that has no worker or waits for its time goes back to
        `tasks.pending` as admitted: from then on it is treated like any other.
        """
        routing = _Routing(self._knows, self._stores.admission, self._stores.bus)
        deferred, admitted = _parted(arrivals, lambda one: one.envelope.deferred)
        routing.envelopes += [one.raw for one in admitted]
        if deferred:
            routing.admit(deferred)
        routing.publish()
        return routing.failed


def _parted(
    arrivals: Sequence[RawArrival], is_first: Callable[[RawArrival], bool]
) -> tuple[list[RawArrival], list[RawArrival]]:
    """Return the arrivals for which *is_first* holds, and the others."""
    first: list[RawArrival] = []
    others: list[RawArrival] = []
    for one in arrivals:
        (first if is_first(one) else others).append(one)
    return first, others


def _bury(arrivals: Sequence[RawArrival], run_context: RunContext) -> set[Position]:
    """End tasks whose type has no worker, as their worker would have ended them."""
    if not arrivals:
        return set()
    return execute(arrivals, lambda task: UnknownType(task.type), run_context)


class _Routing(Struct):
    knows: Callable[[TaskType], bool]
    admission: Admission
    bus: Bus
    envelopes: list[RawEnvelope] = field(default_factory=list)
    pending: list[Envelope | RawEnvelope] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    owed: list[OwedKey] = field(default_factory=list)
    failed: set[Position] = field(default_factory=set)

    def admit(self, deferred: Sequence[RawArrival]) -> None:
        verdicts = verdicts_of([arrival.envelope for arrival in deferred], self.admission)
        for arrival, verdict in zip(deferred, verdicts, strict=True):
            self._weigh(arrival, verdict)

    def _weigh(self, arrival: RawArrival, verdict: Verdict) -> None:
        match verdict:
            case Created(generation) | AdmittedBefore(generation, _):
                self._admit(codec.amended(arrival.raw, generation=generation, deferred=False))
            case Replayed(generation, owed):
                self._drop(arrival.envelope, generation, owed, "replayed")
            case Conflict(generation, owed):
                self._drop(arrival.envelope, generation, owed, "conflict")
            case Cold():
                self.failed.add(arrival.source.position)
            case _:
                assert_never(verdict)

    def _admit(self, raw: RawEnvelope) -> None:
        envelope = raw.envelope
        if self.knows(envelope.type) and not is_delayed(envelope):
            self.envelopes.append(raw)
        else:
            self.pending.append(raw)
        self.owed.append(owed_submission(envelope))
        self.facts.append(admission_of(envelope))

    def _drop(self, envelope: Envelope, generation: int, owed: Owed | None, verdict: str) -> None:
        """Drop a second submission after publishing what the first may not have published."""
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
        if self.facts:
            self.bus.send_pending(self.pending)
            self.bus.send_facts(self.facts)
        self.bus.send_work(self.envelopes)
        self.bus.flush()
        if self.owed:
            self._clear()

    def _clear(self) -> None:
        try:
            self.admission.clear(self.owed)
        except StoreUnavailable:
            return  # the scheduler publishes it again, and claim drops the duplicate
