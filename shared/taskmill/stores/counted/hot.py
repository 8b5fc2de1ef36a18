"""What is admitted, due, parked and ordered in the hot state, counted."""

from collections.abc import Mapping, Sequence
from typing import Final

from taskmill.core.codec import Sealed
from taskmill.core.counting import Count
from taskmill.core.facts import TaskDied
from taskmill.core.owed import Cleared, Cold, Owed, OwedKey
from taskmill.core.ports import Counters
from taskmill.core.task import Envelope, Status, TaskId
from taskmill.dispatch.ports import Delays, DueSet, Parking
from taskmill.dispatch.waiting import Delayed, DelayOrder, Parked
from taskmill.orders.control import (
    CancelOrder,
    ChangeOrder,
    Moved,
    OrderAnswer,
    RedriveAnswer,
    Redriven,
    RedriveOrder,
    Sight,
)
from taskmill.orders.ports import Control
from taskmill.submission.admission import AdmittedBefore, Conflict, Created, Replayed, Verdict
from taskmill.submission.ports import Admission

VERDICTS: Final[Mapping[type[Verdict], str]] = {
    Created: "created",
    AdmittedBefore: "known",
    Replayed: "replayed",
    Conflict: "conflict",
    Cold: "cold",
}


REDRIVES: Final[Mapping[type[RedriveAnswer], str]] = {
    Redriven: "done",
    Moved: "moved",
    Cold: "cold",
}


class CountedAdmission:
    """Counts what the dispatcher admits; the gateway counts what it answered."""

    def __init__(self, admission: Admission, counters: Counters) -> None:
        self._admission = admission
        self._counters = counters

    def admit(self, envelopes: Sequence[Envelope]) -> Sequence[Verdict]:
        verdicts = self._admission.admit(envelopes)
        for verdict in verdicts:
            self._counters.count(Count.DEFERRED, answer=VERDICTS[type(verdict)])
        return verdicts

    def clear(self, published: Sequence[OwedKey]) -> Sequence[Cleared]:
        return self._admission.clear(published)


class CountedDueSet:
    def __init__(self, due: DueSet, counters: Counters) -> None:
        self._due = due
        self._counters = counters

    def take(self, *, most: int) -> Sequence[tuple[OwedKey, Owed]]:
        taken = self._due.take(most=most)
        for name, _ in taken:
            self._counters.count(Count.DUE, kind=name.kind)
        return taken

    def clear(self, published: Sequence[OwedKey]) -> Sequence[Cleared]:
        return self._due.clear(published)

    def forget_expired(self, *, most: int) -> int:
        forgotten = self._due.forget_expired(most=most)
        self._counters.count(Count.FORGOTTEN, forgotten)
        return forgotten


class CountedControl:
    def __init__(self, control: Control, counters: Counters) -> None:
        self._control = control
        self._counters = counters

    def see(self, ids: Sequence[TaskId]) -> Sequence[Sight]:
        return self._control.see(ids)

    def cancel(self, orders: Sequence[CancelOrder]) -> Sequence[OrderAnswer]:
        answers = self._control.cancel(orders)
        for order, answer in zip(orders, answers, strict=True):
            if order.status is Status.DEAD:
                self._count_death(order, answer)
            else:
                what = "end" if order.ending else "ask"
                self._counters.count(Count.CANCEL_ORDERS, order=what, answer=answer)
        return answers

    def _count_death(self, order: CancelOrder, answer: OrderAnswer) -> None:
        for fact in order.facts:
            if answer is OrderAnswer.DONE and isinstance(fact, TaskDied):
                self._counters.count(Count.DEAD, type=fact.type, reason=fact.reason)

    def change(self, orders: Sequence[ChangeOrder]) -> Sequence[OrderAnswer]:
        answers = self._control.change(orders)
        for answer in answers:
            self._counters.count(Count.CHANGES, answer=answer)
        return answers

    def redrive(self, orders: Sequence[RedriveOrder]) -> Sequence[RedriveAnswer]:
        answers = self._control.redrive(orders)
        for order, answer in zip(orders, answers, strict=True):
            word, type_ = REDRIVES[type(answer)], order.envelope.type
            self._counters.count(Count.REDRIVEN, type=type_, answer=word)
        return answers


class CountedDelays:
    def __init__(self, delays: Delays, counters: Counters) -> None:
        self._delays = delays
        self._counters = counters

    def delay(self, orders: Sequence[DelayOrder]) -> Sequence[Delayed]:
        answers = self._delays.delay(orders)
        for answer in answers:
            self._counters.count(Count.DELAYED, answer=answer)
        return answers


class CountedParking:
    def __init__(self, parking: Parking, counters: Counters) -> None:
        self._parking = parking
        self._counters = counters

    def park(self, waiting: Sequence[Sealed]) -> Sequence[Parked]:
        answers = self._parking.park(waiting)
        for answer in answers:
            self._counters.count(Count.PARKED, answer=answer)
        return answers
