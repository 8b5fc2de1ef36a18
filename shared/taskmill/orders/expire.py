"""Ends tasks that did not start by their expiry, wherever they wait."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Protocol, assert_never

from msgspec import Struct, field

from taskmill.core.errors import StoreUnavailable
from taskmill.core.facts import TaskDied
from taskmill.core.owed import Cold, OwedKind
from taskmill.core.ports import Bus
from taskmill.core.task import Millis, Status, TaskId, TaskType
from taskmill.core.time import EXPIRED, EXPIRED_CLASS, Expiry, latest_start, why_expired
from taskmill.core.view import Absent, Ending
from taskmill.dispatch.ports import Delays, ShelvedRecords
from taskmill.lanes.lane import Member
from taskmill.lanes.ports import Lanes
from taskmill.lanes.withdraw import epochs_before, withdraw
from taskmill.ledger.far import load
from taskmill.ledger.ports import Expiries, WholeRows
from taskmill.orders.control import (
    CancelOrder,
    Ordered,
    SnapshotAnswer,
    TaskSnapshot,
    before_the_end,
)
from taskmill.orders.ports import Control
from taskmill.submission.ports import Admission

_WAITS = frozenset({Status.SCHEDULED, Status.QUEUED})


class ExpirationStores(Protocol):
    """Ports for ending expired tasks."""

    @property
    def admission(self) -> Admission: ...

    @property
    def bus(self) -> Bus: ...

    @property
    def control(self) -> Control: ...

    @property
    def delays(self) -> Delays: ...

    @property
    def shelved_records(self) -> ShelvedRecords: ...

    @property
    def expiries(self) -> Expiries: ...

    @property
    def lanes(self) -> Lanes: ...

    @property
    def whole_rows(self) -> WholeRows: ...


class Expiration:
    def __init__(self, stores: ExpirationStores) -> None:
        self._stores = stores

    def run(self) -> int:
        """End tasks that have expired by Redis's clock; return their number.

        A concurrent claim wins, or finds the task dead: the script compares. An expiry is kept
        until its task is known to have started or ended, so that after a death on any line here it
        is checked again.
        """
        return sum(self._end(some) for some in self._stores.expiries.past())

    def _end(self, some: Sequence[Expiry]) -> int:
        stores = self._stores
        look = _Look()
        for expiry, snapshot in zip(
            some, stores.control.see([one.id for one in some]), strict=True
        ):
            look.weigh(expiry, snapshot)
        if look.absent:  # only the ledger keeps them: on the next look they have records
            load(stores.whole_rows.of(look.absent), stores)
        epochs = epochs_before({name for name, _ in _in_line(look.late)}, stores.lanes)
        answers = stores.control.cancel([one.order for one in look.late])
        pairs = zip(look.late, answers, strict=True)
        done = [(one, answer.hold) for one, answer in pairs if isinstance(answer, Ordered)]
        _publish(done, stores.admission, stores.bus)
        ended = [one for one, _ in done]
        withdraw(_in_line(ended), epochs, stores.lanes)
        over = [*look.over, *(one.expiry for one in ended)]
        if over:
            stores.expiries.leave(over)
        return len(ended)


class _Late(Struct, frozen=True, kw_only=True):
    expiry: Expiry
    snapshot: TaskSnapshot
    order: CancelOrder


class _Look(Struct):
    """The result for expired tasks, as far as one look can find out."""

    late: list[_Late] = field(default_factory=list)
    over: list[Expiry] = field(default_factory=list)
    absent: list[TaskId] = field(default_factory=list)

    def weigh(self, expiry: Expiry, snapshot: SnapshotAnswer) -> None:
        match snapshot:
            case Cold():
                pass  # it is checked again when Redis has been rebuilt
            case Absent():
                self.absent.append(expiry.id)
            case TaskSnapshot():
                latest = _latest(snapshot)
                if latest is None:
                    self.over.append(expiry)
                elif latest < snapshot.now_ms:
                    order = _order(snapshot, latest)
                    self.late.append(_Late(expiry=expiry, snapshot=snapshot, order=order))
            case _:
                assert_never(snapshot)


def _in_line(late: Sequence[_Late]) -> Iterator[tuple[TaskType, Member]]:
    for one in late:
        yield from one.snapshot.in_line


def _latest(snapshot: TaskSnapshot) -> Millis | None:
    """Return its latest start time; None when it has started or ended, or has no expiry now."""
    task = snapshot.task
    if task.status not in _WAITS or task.started_at_ms is not None:
        return None
    return latest_start(task.spec.timing, turn=snapshot.turn)


def _order(snapshot: TaskSnapshot, latest: Millis) -> CancelOrder:
    end = _death(snapshot, latest)
    return CancelOrder(
        id=snapshot.task.id,
        seen=snapshot.moment,
        facts=(*before_the_end(snapshot), end),
        ending=Ending(
            finished_at_ms=end.at_ms,
            reason=end.reason,
            error_class=end.error_class,
            error_message=end.error_message,
        ),
        status=Status.DEAD,
        begins_ms=snapshot.begins_ms,
    )


def _death(snapshot: TaskSnapshot, latest: Millis) -> TaskDied:
    task = snapshot.task
    return TaskDied(
        id=task.id,
        generation=task.generation,
        turn=snapshot.turn,
        at_ms=snapshot.now_ms,
        type=task.spec.type,
        tenant=task.spec.tenant,
        attempt=task.attempt,
        token=snapshot.token,
        losses=task.losses,
        reason=EXPIRED,
        error_class=EXPIRED_CLASS,
        error_message=why_expired(latest),
    )


def _publish(done: Sequence[tuple[_Late, int | None]], admission: Admission, bus: Bus) -> None:
    """Publish what ended, each under its hold."""
    if done:
        bus.send_facts([fact for one, _ in done for fact in one.order.facts])
        bus.flush()
        owed = [one.snapshot.owed_key(OwedKind.FACTS, hold=hold) for one, hold in done]
        with suppress(StoreUnavailable):  # then the scheduler publishes them again
            admission.clear(owed)
