"""Redrives dead or cancelled tasks: starts and publishes their next generation."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol, TypeAlias, assert_never

from msgspec import Struct, field
from msgspec.structs import replace

from taskmill.core.errors import StoreUnavailable
from taskmill.core.facts import Fact
from taskmill.core.owed import Cold, Owed, OwedKey, OwedKind
from taskmill.core.ports import Bus
from taskmill.core.task import Envelope, Spec, Status, TaskId
from taskmill.core.view import Absent, Finding, Nowhere, TaskView, Unsure
from taskmill.ledger.ports import WholeRows
from taskmill.ledger.projection import Row, envelope_of
from taskmill.orders.control import Moved, Redriven, RedriveOrder, SnapshotAnswer, TaskSnapshot
from taskmill.orders.ports import Control
from taskmill.submission.ports import Admission
from taskmill.submission.submission import view_of


class RedriveRequest(Struct, frozen=True):
    """A task to redrive; with a generation, only if that is the one that ended."""

    id: TaskId
    generation: int | None = None


class Again(Struct, frozen=True):
    """It waits for its first turn, or is further along if it was redriven before."""

    task: TaskView


class NotOver(Struct, frozen=True):
    """It succeeded, or is alive and was never redriven: there is nothing to redrive."""

    task: TaskView


Redrive: TypeAlias = Again | NotOver | Nowhere | Unsure

_LOOKS = 5
_REDRIVABLE = frozenset({Status.DEAD, Status.CANCELLED})
_COLD = Unsure("Redis is being rebuilt; tasks cannot be redriven meanwhile")
_BEHIND = Unsure("its end is not in the ledger yet: try again", is_behind=True)


class RedriveStores(Protocol):
    """Ports for redriving."""

    @property
    def admission(self) -> Admission: ...

    @property
    def bus(self) -> Bus: ...

    @property
    def control(self) -> Control: ...

    @property
    def whole_rows(self) -> WholeRows: ...


class Redriver:
    """*find* looks up a task that Redis does not have."""

    def __init__(self, stores: RedriveStores, find: Callable[[TaskId], Finding]) -> None:
        self._stores = stores
        self._find = find

    def redrive(self, requests: Sequence[RedriveRequest]) -> list[Redrive]:
        """Redrive the tasks and return each result, which is in the log by then."""
        orders_under_way = _OrdersUnderWay(self._stores, self._find)
        try:
            for _ in range(_LOOKS):
                open_requests = [
                    request for request in requests if request.id not in orders_under_way.answers
                ]
                if open_requests:
                    orders_under_way.try_to_redrive(open_requests)
            orders_under_way.publish()
        except StoreUnavailable as error:
            return orders_under_way.doubtful(requests, error.store)
        contended = Unsure("the task kept changing state while it was being redriven; try again")
        return [orders_under_way.answers.get(request.id, contended) for request in requests]


class _OrdersUnderWay(Struct):
    stores: RedriveStores
    find: Callable[[TaskId], Finding]
    answers: dict[TaskId, Redrive] = field(default_factory=dict)
    owed: dict[OwedKey, Owed] = field(default_factory=dict)

    def try_to_redrive(self, requests: Sequence[RedriveRequest]) -> None:
        """Answer what can be answered; tasks that moved on are read again."""
        snapshots = self.stores.control.see([request.id for request in requests])
        ended = [
            (request, snapshot)
            for request, snapshot in zip(requests, snapshots, strict=True)
            if self._is_over(request, snapshot)
        ]
        if not ended:
            return
        known = {
            row.id: row for row in self.stores.whole_rows.of([request.id for request, _ in ended])
        }
        orders = [
            self._order(request, snapshot, known.get(request.id)) for request, snapshot in ended
        ]
        self._give([order for order in orders if order is not None])

    def _is_over(self, request: RedriveRequest, snapshot: SnapshotAnswer) -> bool:
        """Return whether the ledger's row is needed next; answer tasks that need no row."""
        match snapshot:
            case Cold():
                self.answers[request.id] = _COLD
            case Absent():
                return True
            case TaskSnapshot():
                return self._is_redrivable(request, snapshot)
            case _:
                assert_never(snapshot)
        return False

    def _is_redrivable(self, request: RedriveRequest, snapshot: TaskSnapshot) -> bool:
        current = snapshot.task.generation
        generation = request.generation or current
        if current == generation and snapshot.task.status in _REDRIVABLE:
            return True
        if current < generation:
            self.answers[request.id] = _BEHIND
        elif current > generation:
            self.answers[request.id] = self._again(snapshot)
        else:
            is_redriven = current != snapshot.submitted and not snapshot.task.status.is_final
            self.answers[request.id] = (
                self._again(snapshot) if is_redriven else NotOver(snapshot.task)
            )
        return False

    def _again(self, snapshot: TaskSnapshot) -> Redrive:
        """Repeat the first answer: the process that gave it may have died before the log had it."""
        owed = snapshot.owed.get(OwedKind.SUBMISSION)
        if owed is not None:
            self.owed[snapshot.owed_key(OwedKind.SUBMISSION)] = owed
        return Again(snapshot.task)

    def _order(
        self, request: RedriveRequest, snapshot: SnapshotAnswer, row: Row | None
    ) -> RedriveOrder | None:
        """Return the order; the body comes from the ledger, of this very generation."""
        if isinstance(snapshot, TaskSnapshot):
            if row is None or row.spec is None or row.generation != snapshot.task.generation:
                self.answers[request.id] = _BEHIND
                return None
            return _order(row, row.spec, seen=snapshot)
        target = request.generation or (row.generation if row else 0)
        is_over = row is not None and row.status in _REDRIVABLE and row.generation == target
        if row is None or row.spec is None or not is_over:
            self.answers[request.id] = self._from_ledger(request)
            return None
        return _order(row, row.spec, seen=None)

    def _from_ledger(self, request: RedriveRequest) -> Redrive:
        finding = self.find(request.id)
        if not isinstance(finding, TaskView):
            return finding
        if finding.status in {Status.SUCCEEDED, Status.SCHEDULED}:
            return NotOver(finding)
        return (
            Again(finding)
            if finding.generation > (request.generation or finding.generation)
            else _BEHIND
        )

    def _give(self, orders: Sequence[RedriveOrder]) -> None:
        for order, answer in zip(orders, self.stores.control.redrive(orders), strict=True):
            task_id = order.envelope.id
            match answer:
                case Redriven(generation):
                    task = replace(order.envelope, generation=generation)
                    self.owed[_owed_key(task)] = Owed(facts=order.facts, task=task)
                    self.answers[task_id] = Again(view_of(task))
                case Moved():
                    pass
                case Cold():
                    self.answers[task_id] = _COLD
                case _:
                    assert_never(answer)

    def publish(self) -> None:
        """Publish the facts that ended the tasks first, then the tasks."""
        facts: list[Fact] = [fact for owed in self.owed.values() for fact in owed.facts]
        if facts:
            self.stores.bus.send_facts(facts)
            self.stores.bus.flush()
        self.stores.bus.send_pending([owed.task for owed in self.owed.values() if owed.task])
        self.stores.bus.flush()
        with suppress(StoreUnavailable):  # then the scheduler publishes them again
            self.stores.admission.clear(list(self.owed))

    def doubtful(self, requests: Sequence[RedriveRequest], store: str) -> list[Redrive]:
        """Answer what is certain despite the failure: nothing unread or perhaps unpublished."""
        why = Unsure(f"{store} cannot be reached; the task may have been redriven: try again")
        unpublished = {key.id for key in self.owed}
        return [
            why if request.id in unpublished else self.answers.get(request.id, why)
            for request in requests
        ]


def _order(row: Row, spec: Spec, *, seen: TaskSnapshot | None) -> RedriveOrder:
    """Return the order; the ledger may not have read the latest change, which the record has."""
    latest = seen.task.spec if seen else spec
    return RedriveOrder(
        seen=seen.moment if seen else None,
        envelope=replace(
            envelope_of(row, spec),
            turn=1,
            attempt=1,
            metadata=latest.metadata,
            priority=latest.priority,
            timing=None,
            order_ms=None,
        ),
        facts=seen.last if seen else (),
        token=max(row.largest_token, seen.token if seen else 0),
    )


def _owed_key(task: Envelope) -> OwedKey:
    return OwedKey(id=task.id, generation=task.generation, turn=1, kind=OwedKind.SUBMISSION)
