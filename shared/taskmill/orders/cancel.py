"""Cancels a task: at once while it waits, by asking its worker while it runs."""

from collections.abc import Callable
from contextlib import suppress
from typing import Protocol, TypeAlias, assert_never

from msgspec import Struct
from msgspec.structs import replace

from taskmill.core.errors import StoreUnavailable
from taskmill.core.facts import CancelRequested, Fact, TaskCancelled
from taskmill.core.owed import Cold, OwedKind
from taskmill.core.ports import Bus, Clock
from taskmill.core.task import Status, TaskId
from taskmill.core.view import Absent, Ending, Finding, Nowhere, TaskView, Unsure
from taskmill.dispatch.ports import Delays, ShelvedRecords
from taskmill.lanes.ports import Lanes
from taskmill.lanes.withdraw import epochs_before, withdraw
from taskmill.ledger.far import KEPT_BY_THE_LEDGER, load
from taskmill.ledger.ports import WholeRows
from taskmill.orders.control import CancelOrder, Moved, Ordered, TaskSnapshot, before_the_end
from taskmill.orders.ports import Control
from taskmill.submission.ports import Admission


class CancelAccepted(Struct, frozen=True):
    """It has ended: now, or by an earlier cancellation."""

    task: TaskView


class Asked(Struct, frozen=True):
    """It runs or may run: its worker, or the next one, is asked to end it."""

    task: TaskView


class AlreadyFinished(Struct, frozen=True):
    task: TaskView


Cancellation: TypeAlias = CancelAccepted | Asked | AlreadyFinished | Nowhere | Unsure

_LOOKS = 5
_COLD = Unsure("Redis is being rebuilt; tasks cannot be cancelled meanwhile")
_NOT_ADMITTED = Unsure("the task was accepted a moment ago and is not admitted yet: try again")


class CancelStores(Protocol):
    """Ports for cancelling."""

    @property
    def admission(self) -> Admission: ...

    @property
    def bus(self) -> Bus: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def control(self) -> Control: ...

    @property
    def delays(self) -> Delays: ...

    @property
    def shelved_records(self) -> ShelvedRecords: ...

    @property
    def lanes(self) -> Lanes: ...

    @property
    def whole_rows(self) -> WholeRows: ...


class Canceller:
    """*find* looks up a task that Redis does not have."""

    def __init__(self, stores: CancelStores, find: Callable[[TaskId], Finding]) -> None:
        self._stores = stores
        self._find = find

    def cancel(self, task_id: TaskId) -> Cancellation:
        """Cancel the task and return the result, which is in the log by then."""
        try:
            for _ in range(_LOOKS):
                answer = self._try_to_cancel(task_id)
                if answer is not None:
                    return answer
        except StoreUnavailable as error:
            return Unsure(
                f"{error.store} cannot be reached; the task may have been cancelled: try again"
            )
        return Unsure("the task kept changing state while it was being cancelled; try again")

    def _try_to_cancel(self, task_id: TaskId) -> Cancellation | None:
        """Return None when the task moved on meanwhile: look again."""
        (snapshot,) = self._stores.control.see([task_id])
        match snapshot:
            case Cold():
                return _COLD
            case Absent():
                return self._from_ledger(task_id)
            case TaskSnapshot(task=TaskView(status=status)) if status.is_final:
                return self._ended(snapshot)
            case TaskSnapshot(task=TaskView(cancel_requested=True)):
                self._publish(snapshot, snapshot.owed_facts(OwedKind.FACTS))
                return Asked(snapshot.task)
            case TaskSnapshot():
                return self._order(snapshot)
            case _:
                assert_never(snapshot)

    def _from_ledger(self, task_id: TaskId) -> Cancellation | None:
        """Without a record only the ledger can know: the task ended, or only the ledger keeps it.

        The record of the latter is created and read again; any other task may be anywhere.
        """
        finding = self._find(task_id)
        if not isinstance(finding, TaskView):
            return finding
        if not finding.generation:
            return _NOT_ADMITTED
        if finding.status in KEPT_BY_THE_LEDGER:
            load(self._stores.whole_rows.of([task_id]), self._stores)
        return _reported_again(finding) if finding.status.is_final else None

    def _ended(self, snapshot: TaskSnapshot) -> Cancellation:
        """Repeat the answer: the process that gave it first may have died before the log had it."""
        self._publish(snapshot, snapshot.owed_facts(OwedKind.FACTS))
        return _reported_again(snapshot.task)

    def _order(self, snapshot: TaskSnapshot) -> Cancellation | None:
        facts = (
            _request_fact(snapshot, self._stores.clock)
            if snapshot.may_run
            else _end(snapshot, self._stores.clock)
        )
        ending = None if snapshot.may_run else Ending(finished_at_ms=facts[-1].at_ms)
        order = CancelOrder(
            id=snapshot.task.id,
            seen=snapshot.moment,
            facts=facts,
            ending=ending,
            begins_ms=snapshot.begins_ms,
        )
        lanes, in_line = self._stores.lanes, snapshot.in_line
        epochs = epochs_before([name for name, _ in in_line], lanes)
        (answer,) = self._stores.control.cancel([order])
        match answer:
            case Ordered(hold):
                self._publish(snapshot, facts, hold)
                withdraw(in_line, epochs, lanes)
            case Moved():
                return None
            case Cold():
                return _COLD
            case _:
                assert_never(answer)
        return (
            Asked(_with_request(snapshot.task))
            if ending is None
            else CancelAccepted(_over(snapshot.task, ending))
        )

    def _publish(
        self, snapshot: TaskSnapshot, facts: tuple[Fact, ...], hold: int | None = None
    ) -> None:
        if facts:
            self._stores.bus.send_facts(facts)
            self._stores.bus.flush()
            with suppress(StoreUnavailable):  # then the scheduler publishes them again
                self._stores.admission.clear([snapshot.owed_key(OwedKind.FACTS, hold=hold)])


def _reported_again(task: TaskView) -> Cancellation:
    return CancelAccepted(task) if task.status is Status.CANCELLED else AlreadyFinished(task)


def _request_fact(snapshot: TaskSnapshot, clock: Clock) -> tuple[Fact, ...]:
    task = snapshot.task
    request = CancelRequested(
        id=task.id,
        generation=task.generation,
        turn=snapshot.turn,
        at_ms=clock(),
        type=task.spec.type,
        tenant=task.spec.tenant,
    )
    return (*snapshot.owed_facts(OwedKind.FACTS), request)


def _end(snapshot: TaskSnapshot, clock: Clock) -> tuple[Fact, ...]:
    task = snapshot.task
    end = TaskCancelled(
        id=task.id,
        generation=task.generation,
        turn=snapshot.turn,
        at_ms=clock(),
        type=task.spec.type,
        tenant=task.spec.tenant,
        attempt=task.attempt,
        token=snapshot.token,
        losses=task.losses,
    )
    return (*before_the_end(snapshot), end)


def _with_request(task: TaskView) -> TaskView:
    return replace(task, cancel_requested=True)


def _over(task: TaskView, ending: Ending) -> TaskView:
    return replace(task, status=Status.CANCELLED, ending=ending, waiting=None)
