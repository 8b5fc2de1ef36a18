"""Counts what is ordered from outside, by what Redis answered."""

from collections.abc import Mapping, Sequence
from typing import Final

from taskmill.core.counting import Count
from taskmill.core.facts import TaskDied
from taskmill.core.owed import Cold
from taskmill.core.ports import Counters
from taskmill.core.task import Status
from taskmill.orders.control import (
    CancelOrder,
    ChangeOrder,
    Moved,
    OrderAnswer,
    RedriveAnswer,
    Redriven,
    RedriveOrder,
)
from taskmill.stores.counted.watchers import Watchers, by_answer

REDRIVES: Final[Mapping[type[RedriveAnswer], str]] = {
    Redriven: "done",
    Moved: "moved",
    Cold: "cold",
}


def _cancelled(
    counters: Counters, orders: Sequence[CancelOrder], answers: Sequence[OrderAnswer]
) -> None:
    for order, answer in zip(orders, answers, strict=True):
        if order.status is Status.DEAD:
            _count_death(counters, order, answer)
        else:
            what = "end" if order.ending else "ask"
            counters.count(Count.CANCEL_ORDERS, order=what, answer=answer)


def _count_death(counters: Counters, order: CancelOrder, answer: OrderAnswer) -> None:
    for fact in order.facts:
        if answer is OrderAnswer.DONE and isinstance(fact, TaskDied):
            counters.count(Count.DEAD, type=fact.type, reason=fact.reason)


def _changed(
    counters: Counters, _orders: Sequence[ChangeOrder], answers: Sequence[OrderAnswer]
) -> None:
    for answer in answers:
        counters.count(Count.CHANGES, answer=answer)


def _redriven(
    counters: Counters, orders: Sequence[RedriveOrder], answers: Sequence[RedriveAnswer]
) -> None:
    for order, answer in zip(orders, answers, strict=True):
        word, type_ = REDRIVES[type(answer)], order.envelope.type
        counters.count(Count.REDRIVEN, type=type_, answer=word)


CONTROL: Final[Watchers] = {
    "cancel": by_answer(_cancelled),
    "change": by_answer(_changed),
    "redrive": by_answer(_redriven),
}
