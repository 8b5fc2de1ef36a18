"""Routes tasks from `tasks.pending` to the lanes of their types."""

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
from taskmill.dispatch.arrivals import Arrival, open_arrivals
from taskmill.dispatch.delay import delay, park, waits
from taskmill.dispatch.ports import Delays, Parking, ShelvedRecords
from taskmill.dispatch.shelve import ShelveStores, shelve
from taskmill.execution.context import RunContext
from taskmill.execution.end import end_all
from taskmill.execution.outcome import UnknownType
from taskmill.lanes.enter import EnterStores, enter
from taskmill.lanes.lane import Entered
from taskmill.lanes.ports import Lanes
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
    def lanes(self) -> Lanes: ...

    @property
    def parking(self) -> Parking: ...

    @property
    def shelved_records(self) -> ShelvedRecords: ...


class Dispatch:
    """The dispatcher's work on a batch of `tasks.pending`."""

    def __init__(self, stores: DispatchStores) -> None:
        self._stores = stores

    def route(self, records: Sequence[LogRecord], run_context: RunContext) -> set[Position]:
        """Put each task into its lane; return the positions to retry.

        A task that waits for its time is owed by the due set, and so is a task of a type without a
        worker; the run context ends the latter when it has waited too long.
        """
        arrivals = open_arrivals(records, self._stores.bus)
        waiting, ready = _parted(arrivals, lambda one: waits(one.envelope))
        failed = delay(waiting, self._stores.delays)
        routable, unknown = _parted(ready, self._has_a_way)
        parkings = park(unknown, self._stores.parking)
        failed |= self._send_on(routable)
        return failed | parkings.failed | _end(parkings.over, run_context)

    def _has_a_way(self, arrival: Arrival) -> bool:
        """Return whether to route a task now; one that is not admitted yet is."""
        return arrival.envelope.deferred or self._knows(arrival.envelope.type)

    def _knows(self, task_type: TaskType) -> bool:
        return self._stores.catalogue.entry(task_type) is not None

    def _send_on(self, arrivals: Sequence[Arrival]) -> set[Position]:
        """Put each arrival into the lane of its type; return the positions to retry.

        A task admitted only here that has no worker or waits for its time goes back to
        `tasks.pending` as admitted: from then on it is treated like any other.
        """
        routing = _Routing(self._knows, self._stores)
        deferred, admitted = _parted(arrivals, lambda one: one.envelope.deferred)
        routing.ready += admitted
        if deferred:
            routing.admit(deferred)
        routing.publish()
        return routing.failed


def _parted(
    arrivals: Sequence[Arrival], is_first: Callable[[Arrival], bool]
) -> tuple[list[Arrival], list[Arrival]]:
    """Return the arrivals for which *is_first* holds, and the others."""
    first: list[Arrival] = []
    others: list[Arrival] = []
    for one in arrivals:
        (first if is_first(one) else others).append(one)
    return first, others


def _end(arrivals: Sequence[Arrival], run_context: RunContext) -> set[Position]:
    """End tasks whose type has no worker, as their worker would have ended them."""
    if not arrivals:
        return set()
    envelopes = [one.envelope for one in arrivals]
    left = end_all(envelopes, lambda task: UnknownType(task.type), run_context)
    return {one.position for one in arrivals if one.envelope in left}


class _RoutingStores(EnterStores, ShelveStores, Protocol):
    @property
    def admission(self) -> Admission: ...


class _Routing(Struct):
    knows: Callable[[TaskType], bool]
    stores: _RoutingStores
    ready: list[Arrival] = field(default_factory=list)
    """Admitted tasks that enter their lanes."""

    pending: list[Envelope | RawEnvelope] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    owed: list[OwedKey] = field(default_factory=list)
    failed: set[Position] = field(default_factory=set)

    def admit(self, deferred: Sequence[Arrival]) -> None:
        verdicts = verdicts_of([arrival.envelope for arrival in deferred], self.stores.admission)
        for arrival, verdict in zip(deferred, verdicts, strict=True):
            self._weigh(arrival, verdict)

    def _weigh(self, arrival: Arrival, verdict: Verdict) -> None:
        match verdict:
            case Created(generation) | AdmittedBefore(generation, _):
                raw = codec.amended(arrival.raw, generation=generation, deferred=False)
                self._admit(Arrival(raw, arrival.position))
            case Replayed(generation, owed):
                self._drop(arrival.envelope, generation, owed, "replayed")
            case Conflict(generation, owed):
                self._drop(arrival.envelope, generation, owed, "conflict")
            case Cold():
                self.failed.add(arrival.position)
            case _:
                assert_never(verdict)

    def _admit(self, arrival: Arrival) -> None:
        envelope = arrival.envelope
        if self.knows(envelope.type) and not is_delayed(envelope):
            self.ready.append(arrival)
        else:
            self.pending.append(arrival.raw)
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
        bus = self.stores.bus
        if self.facts:
            bus.send_pending(self.pending)
            bus.send_facts(self.facts)
            bus.flush()  # before anything starts of which the log has not heard
        answers = enter([one.raw for one in self.ready], self.stores)
        entered = list(zip(self.ready, answers, strict=True))
        self.failed |= {one.position for one, answer in entered if answer is Entered.COLD}
        if shelved := [one.envelope for one, answer in entered if answer is Entered.SHELVED]:
            shelve(shelved, self.stores)
        bus.flush()
        if self.owed:
            self._clear()

    def _clear(self) -> None:
        try:
            self.stores.admission.clear(self.owed)
        except StoreUnavailable:
            return  # the scheduler publishes it again, and claim drops the duplicate
