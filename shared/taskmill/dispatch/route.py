"""Routes what stands in `tasks.pending` to the topics of the workers."""

from collections.abc import Callable, Sequence
from typing import Protocol, assert_never

from msgspec import Struct, field

from taskmill.core import codec
from taskmill.core.codec import Sealed
from taskmill.core.errors import StoreUnavailable
from taskmill.core.facts import Fact, SubmissionDropped
from taskmill.core.log import LogRecord, Position
from taskmill.core.owed import Cold, Owed, OwedKey
from taskmill.core.ports import Bus
from taskmill.core.task import Envelope, TaskType
from taskmill.core.time import is_delayed
from taskmill.dispatch.delay import delay, park, waits
from taskmill.dispatch.ports import Delays, Parking
from taskmill.execution.claim import SealedArrival, open_sealed_arrivals
from taskmill.execution.context import Shop
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

    def route(self, records: Sequence[LogRecord], shop: Shop) -> set[Position]:
        """Route each task to its worker; return the positions to retry.

        A task that waits for its time is owed by the due set, and so is a task of a type without a
        worker; the run context ends the latter when it has waited too long.
        """
        arrivals = open_sealed_arrivals(records, self._stores.bus)
        waiting, ready = _parted(arrivals, lambda one: waits(one.envelope))
        failed = delay(waiting, self._stores.delays)
        routable, unknown = _parted(ready, self._has_a_way)
        parkings = park(unknown, self._stores.parking)
        failed |= self._publish(routable)
        return failed | parkings.failed | _bury(parkings.over, shop)

    def _has_a_way(self, arrival: SealedArrival) -> bool:
        """Return whether to route a task now; one that is not admitted yet is."""
        return arrival.envelope.deferred or self._knows(arrival.envelope.type)

    def _knows(self, task_type: TaskType) -> bool:
        return self._stores.catalogue.entry(task_type) is not None

    def _publish(self, arrivals: Sequence[SealedArrival]) -> set[Position]:
        """Publish each arrival to its worker's topic; return the positions to retry.

        A task admitted only here that has no worker or waits for its time goes back to
        `tasks.pending` as admitted: from then on it is treated like any other.
        """
        routing = _Routing(self._knows, self._stores.admission, self._stores.bus)
        deferred, admitted = _parted(arrivals, lambda one: one.envelope.deferred)
        routing.envelopes += [one.sealed for one in admitted]
        if deferred:
            routing.admit(deferred)
        routing.publish()
        return routing.failed


def _parted(
    arrivals: Sequence[SealedArrival], is_first: Callable[[SealedArrival], bool]
) -> tuple[list[SealedArrival], list[SealedArrival]]:
    """Return the arrivals for which *is_first* holds, and the others."""
    first: list[SealedArrival] = []
    others: list[SealedArrival] = []
    for one in arrivals:
        (first if is_first(one) else others).append(one)
    return first, others


def _bury(arrivals: Sequence[SealedArrival], shop: Shop) -> set[Position]:
    """End tasks whose type has no worker, as their worker would have ended them."""
    if not arrivals:
        return set()
    return execute(arrivals, lambda task: UnknownType(task.type), shop)


class _Routing(Struct):
    knows: Callable[[TaskType], bool]
    admission: Admission
    bus: Bus
    envelopes: list[Sealed] = field(default_factory=list)
    pending: list[Envelope | Sealed] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    owed: list[OwedKey] = field(default_factory=list)
    failed: set[Position] = field(default_factory=set)

    def admit(self, deferred: Sequence[SealedArrival]) -> None:
        verdicts = verdicts_of([arrival.envelope for arrival in deferred], self.admission)
        for arrival, verdict in zip(deferred, verdicts, strict=True):
            self._weigh(arrival, verdict)

    def _weigh(self, arrival: SealedArrival, verdict: Verdict) -> None:
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
