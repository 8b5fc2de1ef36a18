"""Metrics of the ports that every task passes, counted once per batch to keep them cheap."""

import logging
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from taskmill.core.counting import Count, Span, topic_label
from taskmill.core.errors import StoreUnavailable, Unpublishable
from taskmill.core.facts import (
    Fact,
    TaskCancelled,
    TaskDeferred,
    TaskDied,
    TaskSucceeded,
    TurnEnd,
)
from taskmill.core.log import LogRecord
from taskmill.core.owed import Cold, Owed, OwedKey
from taskmill.core.ports import Counters
from taskmill.core.refusal import Refusal
from taskmill.core.task import Envelope
from taskmill.execution.lease import (
    Beat,
    CancelFirst,
    Claim,
    ClaimAnswer,
    Claimed,
    Forgotten,
    HeldLease,
    Late,
    Lease,
    SettleAnswer,
    Settled,
    Settlement,
    Stale,
    Suspect,
    TurnOver,
)
from taskmill.submission.admission import AdmittedBefore, Conflict, Created, Replayed, Verdict

if TYPE_CHECKING:  # only annotations need these, and they would slow every cold start
    from taskmill.dispatch.waiting import Delayed, ParkAnswer
    from taskmill.ledger.projection import LedgerBatch

Call: TypeAlias = Callable[..., Any]
Watcher: TypeAlias = Callable[[Call, Counters], Call]
Watchers: TypeAlias = Mapping[str, Watcher]
"""The watched methods of a port, by name."""

W = TypeVar("W", str, tuple[str, str])


def by_answer(count: Callable[[Counters, Any, Any], object]) -> Watcher:
    """Return a watcher that passes the first argument and the answer of a call to *count*."""

    def watcher(call: Call, counters: Counters) -> Call:
        def watched(*arguments: Any, **keywords: Any) -> Any:
            answer = call(*arguments, **keywords)
            count(counters, arguments[0] if arguments else None, answer)
            return answer

        return watched

    return watcher


def tally(labels: Iterable[W]) -> Iterable[tuple[W, int]]:
    return Counter(labels).items()


# Submission

VERDICTS: Final[Mapping[type[Verdict], str]] = {
    Created: "created",
    AdmittedBefore: "known",
    Replayed: "replayed",
    Conflict: "conflict",
    Cold: "cold",
}


def _admitted(
    counters: Counters, envelopes: Sequence[Envelope], verdicts: Sequence[Verdict]
) -> None:
    """Count admissions by the dispatcher; the gateway counts its responses itself."""
    for envelope, verdict in zip(envelopes, verdicts, strict=True):
        if envelope.deferred:
            counters.count(Count.DEFERRED, answer=VERDICTS[type(verdict)])


ADMISSION: Final[Watchers] = {"admit": by_answer(_admitted)}


# The log


def _sending(call: Call, counters: Counters) -> Call:
    """Count failures; for a missing or forbidden topic, sending itself already fails."""

    def watched(*items: Any) -> Any:
        try:
            return call(*items)
        except (StoreUnavailable, Unpublishable):
            counters.count(Count.PUBLISH_FAILURES)
            raise

    return watched


def _flushing(call: Call, counters: Counters) -> Call:
    flush = _sending(call, counters)

    def watched() -> None:
        began = time.monotonic()
        flush()
        counters.time(Span.PUBLISH, time.monotonic() - began)

    return watched


def _undecodable(counters: Counters, record: LogRecord, _reason: str) -> None:
    counters.count(Count.UNDECODABLE, topic=topic_label(record.position.topic))


def _refused(counters: Counters, _record: LogRecord, refusal: Refusal) -> None:
    counters.count(Count.REFUSALS, reason=refusal.code)


def _then(count: Any) -> Watcher:
    """Return a watcher that applies *count* to successful sends only."""

    def watcher(call: Call, counters: Counters) -> Call:
        send = _sending(call, counters)

        def watched(*items: Any) -> None:
            send(*items)
            count(counters, *items)

        return watched

    return watcher


BUS: Final[Watchers] = {
    "send_pending": _sending,
    "send_wake_ups": _sending,
    "send_facts": _sending,
    "send_batch": _sending,
    "send_undecodable": _then(_undecodable),
    "send_refused": _then(_refused),
    "flush": _flushing,
    "is_flushed": _sending,
}


# Dispatch


def _taken(counters: Counters, _request: object, entries: Sequence[tuple[OwedKey, Owed]]) -> None:
    for name, _ in entries:
        counters.count(Count.DUE, kind=name.kind)


def _forgotten(counters: Counters, _request: object, records: int) -> None:
    counters.count(Count.FORGOTTEN, records)


def _delayed(counters: Counters, _orders: object, answers: "Sequence[Delayed]") -> None:
    for answer in answers:
        counters.count(Count.DELAYED, answer=answer)


def _parked(counters: Counters, _waiting: object, answers: "Sequence[ParkAnswer]") -> None:
    for answer in answers:
        counters.count(Count.PARKED, answer=answer)


DUE: Final[Watchers] = {"take": by_answer(_taken), "forget_expired": by_answer(_forgotten)}
DELAYS: Final[Watchers] = {"delay": by_answer(_delayed)}
PARKING: Final[Watchers] = {"park": by_answer(_parked)}


# Execution

CLAIMS: Final[Mapping[type[ClaimAnswer], str]] = {
    Claimed: "claimed",
    Suspect: "suspect",
    HeldLease: "held",
    Late: "late",
    TurnOver: "over",
    Forgotten: "forgotten",
    Cold: "cold",
}
SETTLEMENTS: Final[Mapping[type[SettleAnswer], str]] = {
    Settled: "settled",
    Stale: "stale",
    CancelFirst: "cancel",
    Cold: "cold",
}
_ENDS: Final[Mapping[type[Fact], str]] = {
    TaskSucceeded: "succeeded",
    TaskDied: "died",
    TaskCancelled: "cancelled",
}


def _claimed(counters: Counters, claims: Sequence[Claim], answers: Sequence[ClaimAnswer]) -> None:
    pairs = list(zip((claim.envelope for claim in claims), answers, strict=True))
    labels = ((envelope.type, CLAIMS[type(answer)]) for envelope, answer in pairs)
    for (type_, label), turns in tally(labels):
        counters.count(Count.CLAIMS, turns, type=type_, answer=label)
    _begun(counters, [(envelope, one) for envelope, one in pairs if type(one) is Claimed])


def _extended(counters: Counters, _leases: Sequence[Lease], beats: Sequence[Beat]) -> None:
    counters.count(Count.LEASES_LOST, beats.count(Beat.LOST))


def _settled(
    counters: Counters, settlements: Sequence[Settlement], answers: Sequence[SettleAnswer]
) -> None:
    for label, ends in tally(SETTLEMENTS[type(answer)] for answer in answers):
        counters.count(Count.SETTLEMENTS, ends, answer=label)
    ended = [
        fact
        for settlement, answer in zip(settlements, answers, strict=True)
        if type(answer) is Settled
        for fact in settlement.facts
        if isinstance(fact, TurnEnd)
    ]
    _ended(counters, ended)


def _begun(counters: Counters, pairs: Sequence[tuple[Envelope, Claimed]]) -> None:
    for type_, losses in tally(one.type for one, claimed in pairs if _is_take_over(claimed)):
        counters.count(Count.LOSSES, losses, type=type_)
    waits = (
        (one.type, _seconds(one.created_at_ms, claimed.started_at_ms))
        for one, claimed in pairs
        if one.turn == 1 and not _is_take_over(claimed)
    )
    for type_, seconds in _by_type(waits):
        counters.time(Span.WAIT, *seconds, type=type_)


def _is_take_over(claimed: Claimed) -> bool:
    """Return whether this very claim recorded the last of the losses."""
    return bool(claimed.unreported) and claimed.unreported[-1].at_ms == claimed.started_at_ms


def _ended(counters: Counters, facts: Sequence[TurnEnd]) -> None:
    for (type_, end), attempts in tally((fact.type, _end(fact)) for fact in facts):
        counters.count(Count.ATTEMPTS, attempts, type=type_, end=end)
    tries = (
        (fact.type, _seconds(fact.started_at_ms, fact.at_ms))
        for fact in facts
        if fact.started_at_ms is not None
    )
    for type_, seconds in _by_type(tries):
        counters.time(Span.ATTEMPT, *seconds, type=type_)
    for fact in facts:
        if not isinstance(fact, TaskSucceeded):
            _failed(counters, fact)


def _failed(counters: Counters, fact: TurnEnd) -> None:
    if isinstance(fact, TaskDeferred | TaskDied) and fact.reason == "timeout":
        counters.count(Count.TIMEOUTS, type=fact.type)
    if isinstance(fact, TaskDied):
        counters.count(Count.DEAD, type=fact.type, reason=fact.reason)


LEASES: Final[Watchers] = {
    "claim": by_answer(_claimed),
    "extend": by_answer(_extended),
    "settle": by_answer(_settled),
}


def _by_type(pairs: Iterable[tuple[str, float]]) -> Iterable[tuple[str, list[float]]]:
    by_type: defaultdict[str, list[float]] = defaultdict(list)
    for type_, seconds in pairs:
        by_type[type_].append(seconds)
    return by_type.items()


def _seconds(since_ms: int, until_ms: int) -> float:
    """Return a span in seconds, never negative although two clocks may have measured it."""
    return max(until_ms - since_ms, 0) / 1000


def _end(fact: TurnEnd) -> str:
    if isinstance(fact, TaskDeferred):
        return fact.reason if fact.reason in {"snoozed", "stopped"} else "retried"
    return _ENDS[type(fact)]


# The ledger

_log = logging.getLogger("taskmill.ledger")

_MOST_NAMED: Final = 10


def _recorded(counters: Counters, batch: "LedgerBatch", late: int) -> None:
    if late:
        counters.count(Count.LATE_ROWS, late)
    if impossible := batch.contradictions():
        counters.count(Count.CONTRADICTIONS, len(impossible))
        ids = sorted({one.id for one in impossible})
        _log.error("facts after an end", extra={"task_ids": ids[:_MOST_NAMED]})
    for kind, facts in tally(fact.kind for fact in batch.history):
        counters.count(Count.FACTS, facts, kind=kind)
    for topic, records in tally(topic_label(one.topic) for one in batch.quarantined):
        counters.count(Count.QUARANTINED, records, topic=topic)


LEDGER: Final[Watchers] = {"record": by_answer(_recorded)}
