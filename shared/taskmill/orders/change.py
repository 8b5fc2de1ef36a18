"""Changes the time, the priority and the metadata of a waiting task."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Protocol, TypeAlias, assert_never

from msgspec import Struct
from msgspec.structs import replace

from taskmill.core.errors import StoreUnavailable
from taskmill.core.facts import Fact, TaskChanged
from taskmill.core.owed import Cold, OwedKey, OwedKind
from taskmill.core.ports import Bus, Pause
from taskmill.core.task import Envelope, Millis, Priority, Status, TaskId, Timing
from taskmill.core.time import expires_ms
from taskmill.core.view import Absent, Finding, Nowhere, TaskView, Unsure
from taskmill.dispatch.ports import Delays, ShelvedRecords
from taskmill.lanes.order import order_ms
from taskmill.lanes.ports import Lanes
from taskmill.lanes.withdraw import epochs_before, withdraw
from taskmill.ledger.await_ledger import await_ledger
from taskmill.ledger.far import KEPT_BY_THE_LEDGER, load
from taskmill.ledger.ports import WholeRows
from taskmill.ledger.projection import envelope_of
from taskmill.orders.control import ChangeOrder, Moved, Ordered, TaskSnapshot
from taskmill.orders.ports import Control
from taskmill.submission.payloads import gone_before
from taskmill.submission.ports import Admission, Blobs
from taskmill.submission.submission import view_of


class WantedChange(Struct, frozen=True, kw_only=True):
    """The requested changes; None leaves a field unchanged."""

    run_at_ms: Millis | None = None
    delay_ms: int | None = None
    metadata: Mapping[str, str] | None = None
    priority: Priority | None = None

    @property
    def has_time(self) -> bool:
        return self.run_at_ms is not None or self.delay_ms is not None


class ChangeAccepted(Struct, frozen=True):
    task: TaskView


class NotWaiting(Struct, frozen=True):
    """It runs, has ended or is about to end, so there is nothing left to change."""

    task: TaskView


class TooLate(Struct, frozen=True):
    """By then it would have expired."""

    expires_at_ms: Millis


class PayloadGone(Struct, frozen=True):
    """By then its uploaded payload may be deleted."""

    why: str


Change: TypeAlias = ChangeAccepted | NotWaiting | TooLate | PayloadGone | Nowhere | Unsure

_LOOKS = 15
_WAITS = frozenset({Status.SCHEDULED, Status.QUEUED, Status.RETRYING})
_COLD = Unsure("Redis is being rebuilt; tasks cannot be changed meanwhile")
_MAY_RUN = Unsure("Redis was rebuilt a moment ago and the task may be running: try again in 6 s")
_BEHIND = Unsure("the task is not in the ledger yet: try again", is_behind=True)


class ChangeStores(Protocol):
    """Ports for changing."""

    @property
    def admission(self) -> Admission: ...

    @property
    def blobs(self) -> Blobs: ...

    @property
    def bus(self) -> Bus: ...

    @property
    def control(self) -> Control: ...

    @property
    def delays(self) -> Delays: ...

    @property
    def shelved_records(self) -> ShelvedRecords: ...

    @property
    def lanes(self) -> Lanes: ...

    @property
    def pause(self) -> Pause: ...

    @property
    def whole_rows(self) -> WholeRows: ...


class Changer:
    """*find* looks up a task that Redis does not have."""

    def __init__(self, stores: ChangeStores, find: Callable[[TaskId], Finding]) -> None:
        self._stores = stores
        self._find = find

    def change(self, task_id: TaskId, request: WantedChange) -> Change:
        """Change the task and return the result, which is in the log by then.

        A task submitted a moment ago is complete nowhere until the dispatcher or the recorder has
        read it, so a short wait is worthwhile.
        """
        orders_under_way = _OrdersUnderWay(request, self._stores, self._find)
        try:
            return await_ledger(
                lambda: orders_under_way.change(task_id),
                is_behind=lambda answer: answer is _BEHIND,
                pause=self._stores.pause,
            )
        except StoreUnavailable as error:
            return Unsure(
                f"{error.store} cannot be reached; the task may have been changed: try again"
            )


class _OrdersUnderWay(Struct, frozen=True):
    wanted: WantedChange
    stores: ChangeStores
    find: Callable[[TaskId], Finding]

    def change(self, task_id: TaskId) -> Change:
        for _ in range(_LOOKS):
            answer = self.try_to_change(task_id)
            if answer is not None:
                return answer
        return Unsure("the task kept changing state while it was being changed; try again")

    def try_to_change(self, task_id: TaskId) -> Change | None:
        """Return None when the task moved on meanwhile: look again."""
        (snapshot,) = self.stores.control.see([task_id])
        match snapshot:
            case Cold():
                return _COLD
            case Absent():
                return self._from_ledger(task_id)
            case TaskSnapshot(task=task) if task.status not in _WAITS or task.cancel_requested:
                return NotWaiting(task)
            case TaskSnapshot(may_run=True):
                return _MAY_RUN
            case TaskSnapshot():
                return self._order(snapshot)
            case _:
                assert_never(snapshot)

    def _from_ledger(self, task_id: TaskId) -> Change | None:
        finding = self.find(task_id)
        if not isinstance(finding, TaskView):
            return finding
        if not finding.generation:
            return _BEHIND
        if finding.status in KEPT_BY_THE_LEDGER:
            load(self.stores.whole_rows.of([task_id]), self.stores)
        return NotWaiting(finding) if finding.status.is_final else None

    def _order(self, snapshot: TaskSnapshot) -> Change | None:
        envelope = self._queued(snapshot)
        if envelope is None:
            return _BEHIND
        begin = self._begin(envelope, snapshot)
        due = Millis(max(begin, snapshot.now_ms))
        latest = None if _has_begun(snapshot) else expires_ms(envelope)
        if latest is not None and due >= latest:
            return TooLate(latest)
        reason = self._why_gone(envelope, due)
        if reason is not None:
            return PayloadGone(reason)
        following = self._following(envelope, snapshot, begin, latest)
        facts = (*snapshot.owed_facts(OwedKind.TURN), _changed_fact(following, snapshot))
        order = ChangeOrder(
            seen=snapshot.moment,
            envelope=following,
            due_at_ms=due,
            facts=facts,
            begins_ms=snapshot.begins_ms,
        )
        lanes, in_line = self.stores.lanes, snapshot.in_line
        epochs = epochs_before([name for name, _ in in_line], lanes)
        (answer,) = self.stores.control.change([order])
        match answer:
            case Ordered(hold):
                self._publish(following, facts, hold)
                withdraw(in_line, epochs, lanes)
            case Moved():
                return None
            case Cold():
                return _COLD
            case _:
                assert_never(answer)
        return ChangeAccepted(_rescheduled(following, snapshot))

    def _queued(self, snapshot: TaskSnapshot) -> Envelope | None:
        """Return the task's envelope: the owed one, or that of the ledger."""
        for kind in (OwedKind.TURN, OwedKind.PARKED, OwedKind.SUBMISSION):
            owed = snapshot.owed.get(kind)
            if owed is not None and owed.task is not None:
                return owed.task
        for row in self.stores.whole_rows.of([snapshot.task.id]):
            if row.spec is not None and row.generation == snapshot.task.generation:
                envelope = envelope_of(row, row.spec)
                return envelope if envelope.turn == snapshot.turn else None
        return None

    def _begin(self, envelope: Envelope, snapshot: TaskSnapshot) -> Millis:
        """Return from when the next turn may start, by the clock of Redis.

        Without a new time that is the one for which the task waits, or since when it stands in
        line: its wait is counted from there.
        """
        now, request = snapshot.now_ms, self.wanted
        if request.delay_ms is not None:
            return Millis(now + request.delay_ms)
        if request.run_at_ms is not None:
            return Millis(max(now, request.run_at_ms))
        return snapshot.task.due_at_ms or order_ms(envelope)

    def _why_gone(self, envelope: Envelope, due: Millis) -> str | None:
        """Return why the payload may be gone by then; one that is gone already blocks nothing."""
        pointer = envelope.payload_ref
        if pointer is None or not self.wanted.has_time:
            return None
        blob = self.stores.blobs.look(pointer.url)
        return None if blob is None else gone_before(blob, due)

    def _following(
        self, envelope: Envelope, snapshot: TaskSnapshot, begin: Millis, latest: Millis | None
    ) -> Envelope:
        """Return the envelope of the next turn; without a new time it keeps its place in line."""
        turn, wanted = snapshot.turn + 1, self.wanted
        return replace(
            envelope,
            turn=turn,
            metadata=envelope.metadata if wanted.metadata is None else wanted.metadata,
            priority=envelope.priority if wanted.priority is None else wanted.priority,
            order_ms=None if wanted.has_time else order_ms(envelope),
            deferred=False,
            parked_until_ms=None,
            timing=Timing(
                run_at_ms=begin, said_ms=snapshot.now_ms, turn=turn, expires_at_ms=latest
            ),
        )

    def _publish(self, envelope: Envelope, facts: tuple[Fact, ...], hold: int | None) -> None:
        self.stores.bus.send_facts(facts)
        self.stores.bus.flush()
        owed = OwedKey(
            id=envelope.id,
            generation=envelope.generation,
            turn=envelope.turn,
            kind=OwedKind.FACTS,
            hold=hold,
        )
        with suppress(StoreUnavailable):  # then the scheduler publishes them again
            self.stores.admission.clear([owed])


def _has_begun(snapshot: TaskSnapshot) -> bool:
    return snapshot.task.started_at_ms is not None


def _changed_fact(envelope: Envelope, snapshot: TaskSnapshot) -> TaskChanged:
    return TaskChanged(
        id=envelope.id,
        generation=envelope.generation,
        turn=envelope.turn,
        at_ms=snapshot.now_ms,
        type=envelope.type,
        tenant=envelope.tenant,
        envelope=envelope,
    )


def _rescheduled(envelope: Envelope, snapshot: TaskSnapshot) -> TaskView:
    task = snapshot.task
    return replace(
        view_of(envelope),
        status=Status.SCHEDULED,
        losses=task.losses,
        started_at_ms=task.started_at_ms,
        first_started_at_ms=task.first_started_at_ms,
    )
