"""Metrics of orders, the outbox, enqueued requests and schedules."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Final

from taskmill.core.counting import Count, Span
from taskmill.core.facts import TaskDied
from taskmill.core.owed import Cold
from taskmill.core.ports import Counters
from taskmill.core.refusal import Refusal
from taskmill.core.task import Status
from taskmill.orders.control import (
    CancelOrder,
    ChangeOrder,
    Moved,
    OrderAnswer,
    Ordered,
    RedriveAnswer,
    Redriven,
    RedriveOrder,
)
from taskmill.schedules.schedule import Draft, Fire, Schedule, ScheduleStep
from taskmill.stores.counted.tasks import Call, Watchers, by_answer
from taskmill.submission.enqueued import Enqueued, LookBack
from taskmill.submission.outbox import Unsent
from taskmill.submission.ports import HeldRequests, HeldRows

# Orders

REDRIVES: Final[Mapping[type[RedriveAnswer], str]] = {
    Redriven: "done",
    Moved: "moved",
    Cold: "cold",
}


ORDERS: Final[Mapping[type[OrderAnswer], str]] = {Ordered: "done", Moved: "moved", Cold: "cold"}


def _cancelled(
    counters: Counters, orders: Sequence[CancelOrder], answers: Sequence[OrderAnswer]
) -> None:
    for order, answer in zip(orders, answers, strict=True):
        if order.status is Status.DEAD:
            _count_death(counters, order, answer)
        else:
            what = "end" if order.ending else "ask"
            counters.count(Count.CANCEL_ORDERS, order=what, answer=ORDERS[type(answer)])


def _count_death(counters: Counters, order: CancelOrder, answer: OrderAnswer) -> None:
    for fact in order.facts:
        if isinstance(answer, Ordered) and isinstance(fact, TaskDied):
            counters.count(Count.DEAD, type=fact.type, reason=fact.reason)


def _changed(
    counters: Counters, _orders: Sequence[ChangeOrder], answers: Sequence[OrderAnswer]
) -> None:
    for answer in answers:
        counters.count(Count.CHANGES, answer=ORDERS[type(answer)])


def _redriven(
    counters: Counters, orders: Sequence[RedriveOrder], answers: Sequence[RedriveAnswer]
) -> None:
    for order, answer in zip(orders, answers, strict=True):
        label, type_ = REDRIVES[type(answer)], order.envelope.type
        counters.count(Count.REDRIVEN, type=type_, answer=label)


CONTROL: Final[Watchers] = {
    "cancel": by_answer(_cancelled),
    "change": by_answer(_changed),
    "redrive": by_answer(_redriven),
}


# The outbox and enqueued requests


def _relaying(call: Call, counters: Counters) -> Call:
    @contextmanager
    def watched(**how: Any) -> Iterator[HeldRows]:
        with call(**how) as hold:
            counted = CountedHeld(hold)
            yield counted
        for answer, rows in counted.answers.items():
            counters.count(Count.OUTBOX, rows, answer=answer)

    return watched


def _taking(call: Call, counters: Counters) -> Call:
    @contextmanager
    def watched(**how: Any) -> Iterator[HeldRequests]:
        with call(**how) as hold:
            counted = CountedHeldRequests(hold)
            yield counted
        for answer, rows in counted.answers.items():
            counters.count(Count.ENQUEUED, rows, answer=answer)
        counters.count(Count.ENQUEUED_IN_VAIN, counted.parked)

    return watched


OUTBOX: Final[Watchers] = {"held": _relaying}
REQUESTS: Final[Watchers] = {"held": _taking}


class CountedHeld:
    """Held outbox rows whose marks are counted at the end; an alarm watches parked ones."""

    def __init__(self, hold: HeldRows) -> None:
        self._hold = hold
        self.answers = {"relayed": 0, "parked": 0}

    @property
    def rows(self) -> Sequence[Unsent]:
        return self._hold.rows

    def mark_published(self, rows: Sequence[Unsent]) -> None:
        self._hold.mark_published(rows)
        self.answers["relayed"] += len(rows)

    def park(self, row: Unsent, reason: str) -> None:
        self._hold.park(row, reason)
        self.answers["parked"] += 1


class CountedHeldRequests:
    """Held requests whose marks are counted at the end; an alarm watches parked ones."""

    def __init__(self, hold: HeldRequests) -> None:
        self._hold = hold
        self.answers = {"taken": 0, "put_off": 0}
        self.parked = 0

    @property
    def rows(self) -> Sequence[Enqueued]:
        return self._hold.rows

    def look_back(self, rows: Sequence[Enqueued]) -> LookBack:
        return self._hold.look_back(rows)

    def mark_done(self, rows: Sequence[Enqueued]) -> None:
        self._hold.mark_done(rows)
        self.answers["taken"] += len(rows)

    def park(self, row: Enqueued, why: Refusal) -> None:
        self._hold.park(row, why)
        self.parked += 1

    def put_off(self, rows: Sequence[Enqueued], by: timedelta) -> None:
        self._hold.put_off(rows, by)
        self.answers["put_off"] += len(rows)


# Schedules


def _advanced(
    counters: Counters, _steps: Sequence[ScheduleStep], done: Sequence[ScheduleStep]
) -> None:
    late = [(one.now_ms - fire.nominal_ms) / 1000 for one in done for fire in one.fires]
    if late:
        counters.time(Span.FIRE_LATENESS, *late)
    _count(
        counters,
        fired=len(late),
        skipped=sum(one.skipped for one in done),
        missed=sum(one.missed for one in done),
    )


def _changing(call: Call, counters: Counters) -> Call:
    def watched(schedule: Schedule, draft: Draft) -> bool:
        is_done: bool = call(schedule, draft)
        if is_done:
            _count(counters, skipped=draft.skipped, missed=draft.missed)
        return is_done

    return watched


def _triggering(call: Call, counters: Counters) -> Call:
    def watched(schedule: Schedule, fire: Fire) -> bool:
        is_done: bool = call(schedule, fire)
        _count(counters, triggered=int(is_done))
        return is_done

    return watched


def _backfilling(call: Call, counters: Counters) -> Call:
    def watched(schedule: Schedule, fires: Sequence[Fire]) -> bool:
        is_done: bool = call(schedule, fires)
        if is_done:
            _count(counters, backfilled=len(fires))
        return is_done

    return watched


def _count(counters: Counters, **by_outcome: Any) -> None:
    for outcome, count in by_outcome.items():
        counters.count(Count.INSTANTS, count, outcome=outcome)


FIRING: Final[Watchers] = {"advance": by_answer(_advanced)}
SCHEDULES: Final[Watchers] = {
    "change": _changing,
    "trigger": _triggering,
    "backfill": _backfilling,
}
