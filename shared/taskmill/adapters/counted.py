"""Ports that count what passes through them; the one that they wrap does the work."""

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from taskmill.domain.admission import (
    AdmittedBefore,
    Cleared,
    Cold,
    Conflict,
    Created,
    Owed,
    OwedKey,
    Replayed,
    Verdict,
)
from taskmill.domain.control import (
    CancelAnswer,
    CancelOrder,
    Moved,
    RedriveAnswer,
    Redriven,
    RedriveOrder,
    Sight,
)
from taskmill.domain.counting import Count, Span, topic_label
from taskmill.domain.errors import StoreUnavailable
from taskmill.domain.facts import Fact, TaskCancelled, TaskDeferred, TaskDied, TaskSucceeded
from taskmill.domain.lease import (
    Beat,
    CancelFirst,
    Claim,
    ClaimAnswer,
    Claimed,
    Forgotten,
    Held,
    Lease,
    Position,
    Refused,
    SettleAnswer,
    Settled,
    Settlement,
    Stale,
    Suspect,
)
from taskmill.domain.projection import LedgerBatch
from taskmill.domain.task import Envelope, TaskId
from taskmill.domain.wire import Sealed
from taskmill.ports import Admission, Bus, Control, Counters, DueSet, Leases, Ledger

VERDICTS: Final[Mapping[type[Verdict], str]] = {
    Created: "created",
    AdmittedBefore: "known",
    Replayed: "replayed",
    Conflict: "conflict",
    Cold: "cold",
}
CLAIMS: Final[Mapping[type[ClaimAnswer], str]] = {
    Claimed: "claimed",
    Suspect: "suspect",
    Held: "held",
    Refused: "refused",
    Forgotten: "forgotten",
    Cold: "cold",
}
SETTLEMENTS: Final[Mapping[type[SettleAnswer], str]] = {
    Settled: "settled",
    Stale: "stale",
    CancelFirst: "cancel",
    Cold: "cold",
}
REDRIVES: Final[Mapping[type[RedriveAnswer], str]] = {
    Redriven: "done",
    Moved: "moved",
    Cold: "cold",
}
_ENDS: Final[Mapping[type[Fact], str]] = {
    TaskSucceeded: "succeeded",
    TaskDied: "died",
    TaskCancelled: "cancelled",
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


class CountedControl:
    def __init__(self, control: Control, counters: Counters) -> None:
        self._control = control
        self._counters = counters

    def see(self, ids: Sequence[TaskId]) -> Sequence[Sight]:
        return self._control.see(ids)

    def cancel(self, orders: Sequence[CancelOrder]) -> Sequence[CancelAnswer]:
        answers = self._control.cancel(orders)
        for order, answer in zip(orders, answers, strict=True):
            what = "end" if order.ending else "ask"
            self._counters.count(Count.CANCEL_ORDERS, order=what, answer=answer)
        return answers

    def redrive(self, orders: Sequence[RedriveOrder]) -> Sequence[RedriveAnswer]:
        answers = self._control.redrive(orders)
        for order, answer in zip(orders, answers, strict=True):
            word, type_ = REDRIVES[type(answer)], order.envelope.type
            self._counters.count(Count.REDRIVEN, type=type_, answer=word)
        return answers


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


class CountedLeases:
    def __init__(self, leases: Leases, counters: Counters) -> None:
        self._leases = leases
        self._counters = counters

    def claim(self, claims: Sequence[Claim]) -> Sequence[ClaimAnswer]:
        answers = self._leases.claim(claims)
        for claim, answer in zip(claims, answers, strict=True):
            self._claimed(claim.envelope, answer)
        return answers

    def extend(self, leases: Sequence[Lease]) -> Sequence[Beat]:
        beats = self._leases.extend(leases)
        self._counters.count(Count.LEASES_LOST, beats.count(Beat.LOST))
        return beats

    def settle(self, settlements: Sequence[Settlement]) -> Sequence[SettleAnswer]:
        answers = self._leases.settle(settlements)
        for settlement, answer in zip(settlements, answers, strict=True):
            self._counters.count(Count.SETTLEMENTS, answer=SETTLEMENTS[type(answer)])
            if isinstance(answer, Settled):
                self._settled(settlement.facts)
        return answers

    def _claimed(self, envelope: Envelope, answer: ClaimAnswer) -> None:
        self._counters.count(Count.CLAIMS, type=envelope.type, answer=CLAIMS[type(answer)])
        if not isinstance(answer, Claimed):
            return
        if answer.is_take_over:
            self._counters.count(Count.LOSSES, type=envelope.type)
        elif envelope.turn == 1:
            waited = _seconds(envelope.created_at_ms, answer.started_at_ms)
            self._counters.time(Span.WAIT, waited, type=envelope.type)

    def _settled(self, facts: Sequence[Fact]) -> None:
        for fact in facts:
            if not isinstance(fact, TaskSucceeded | TaskDeferred | TaskDied | TaskCancelled):
                continue
            self._counters.count(Count.ATTEMPTS, type=fact.type, end=_end(fact))
            if fact.started_at_ms is not None:
                taken = _seconds(fact.started_at_ms, fact.at_ms)
                self._counters.time(Span.ATTEMPT, taken, type=fact.type)
            if isinstance(fact, TaskDeferred | TaskDied) and fact.reason == "timeout":
                self._counters.count(Count.TIMEOUTS, type=fact.type)
            if isinstance(fact, TaskDied):
                self._counters.count(Count.DEAD, type=fact.type, reason=fact.reason)


def _seconds(since_ms: int, until_ms: int) -> float:
    """Return a span that two clocks may have measured: it is never negative."""
    return max(until_ms - since_ms, 0) / 1000


def _end(fact: TaskSucceeded | TaskDeferred | TaskDied | TaskCancelled) -> str:
    if isinstance(fact, TaskDeferred):
        return "snoozed" if fact.reason == "snoozed" else "retried"
    return _ENDS[type(fact)]


class CountedBus:
    def __init__(self, bus: Bus, counters: Counters) -> None:
        self._bus = bus
        self._counters = counters

    def is_shut(self) -> bool:
        return self._bus.is_shut()

    def send_pending(self, envelopes: Sequence[Envelope | Sealed]) -> None:
        self._bus.send_pending(envelopes)

    def send_work(self, envelopes: Sequence[Envelope | Sealed]) -> None:
        self._bus.send_work(envelopes)
        for task_type, tasks in _tally(envelope.type for envelope in envelopes):
            self._counters.count(Count.DISPATCHED, tasks, type=task_type)

    def send_facts(self, facts: Sequence[Fact]) -> None:
        self._bus.send_facts(facts)

    def send_parcel(self, topic: str, value: bytes) -> None:
        self._bus.send_parcel(topic, value)

    def send_undecodable(self, value: bytes | None, at: Position, reason: str) -> None:
        self._bus.send_undecodable(value, at, reason)
        self._counters.count(Count.UNDECODABLE, topic=topic_label(at.topic))

    def flush(self) -> None:
        began = time.monotonic()
        try:
            self._bus.flush()
        except StoreUnavailable:
            self._counters.count(Count.PUBLISH_FAILURES)
            raise
        self._counters.time(Span.PUBLISH, time.monotonic() - began)


class CountedLedger:
    def __init__(self, ledger: Ledger, counters: Counters) -> None:
        self._ledger = ledger
        self._counters = counters

    def record(self, batch: LedgerBatch) -> None:
        self._ledger.record(batch)
        for kind, facts in _tally(fact.kind for fact in batch.history):
            self._counters.count(Count.FACTS, facts, kind=kind)
        for topic, records in _tally(topic_label(one.topic) for one in batch.quarantined):
            self._counters.count(Count.QUARANTINED, records, topic=topic)


def _tally(words: Iterable[str]) -> Iterable[tuple[str, int]]:
    return Counter(words).items()
