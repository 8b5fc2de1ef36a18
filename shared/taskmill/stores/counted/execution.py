"""Claims and settlements, counted and timed: by the batch, for it stands in every task's way."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from taskmill.core.counting import Count, Span
from taskmill.core.facts import Fact, TaskCancelled, TaskDeferred, TaskDied, TaskSucceeded
from taskmill.core.owed import Cold
from taskmill.core.ports import Counters
from taskmill.core.task import Envelope
from taskmill.execution.conclude import TurnEnd
from taskmill.execution.lease import (
    Beat,
    CancelFirst,
    Claim,
    ClaimAnswer,
    Claimed,
    Forgotten,
    Held,
    Lease,
    Refused,
    SettleAnswer,
    Settled,
    Settlement,
    Stale,
    Suspect,
)
from taskmill.stores.counted.watchers import Watchers, by_answer, tally

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
_ENDS: Final[Mapping[type[Fact], str]] = {
    TaskSucceeded: "succeeded",
    TaskDied: "died",
    TaskCancelled: "cancelled",
}


def _claimed(counters: Counters, claims: Sequence[Claim], answers: Sequence[ClaimAnswer]) -> None:
    given = list(zip((claim.envelope for claim in claims), answers, strict=True))
    words = ((envelope.type, CLAIMS[type(answer)]) for envelope, answer in given)
    for (type_, word), turns in tally(words):
        counters.count(Count.CLAIMS, turns, type=type_, answer=word)
    _begun(counters, [(envelope, one) for envelope, one in given if type(one) is Claimed])


def _extended(counters: Counters, _leases: Sequence[Lease], beats: Sequence[Beat]) -> None:
    counters.count(Count.LEASES_LOST, beats.count(Beat.LOST))


def _settled(
    counters: Counters, settlements: Sequence[Settlement], answers: Sequence[SettleAnswer]
) -> None:
    for word, ends in tally(SETTLEMENTS[type(answer)] for answer in answers):
        counters.count(Count.SETTLEMENTS, ends, answer=word)
    ended = [
        fact
        for settlement, answer in zip(settlements, answers, strict=True)
        if type(answer) is Settled
        for fact in settlement.facts
        if isinstance(fact, TurnEnd)
    ]
    _ended(counters, ended)


def _begun(counters: Counters, given: Sequence[tuple[Envelope, Claimed]]) -> None:
    for type_, losses in tally(one.type for one, claimed in given if claimed.is_take_over):
        counters.count(Count.LOSSES, losses, type=type_)
    waits = (
        (one.type, _seconds(one.created_at_ms, claimed.started_at_ms))
        for one, claimed in given
        if one.turn == 1 and not claimed.is_take_over
    )
    for type_, seconds in _by_type(waits):
        counters.time(Span.WAIT, *seconds, type=type_)


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
        if isinstance(fact, TaskDeferred | TaskDied) and fact.reason == "timeout":
            counters.count(Count.TIMEOUTS, type=fact.type)
        if isinstance(fact, TaskDied):
            counters.count(Count.DEAD, type=fact.type, reason=fact.reason)


LEASES: Final[Watchers] = {
    "claim": by_answer(_claimed),
    "extend": by_answer(_extended),
    "settle": by_answer(_settled),
}


def _by_type(taken: Iterable[tuple[str, float]]) -> Iterable[tuple[str, list[float]]]:
    by_type: defaultdict[str, list[float]] = defaultdict(list)
    for type_, seconds in taken:
        by_type[type_].append(seconds)
    return by_type.items()


def _seconds(since_ms: int, until_ms: int) -> float:
    """Return a span that two clocks may have measured: it is never negative."""
    return max(until_ms - since_ms, 0) / 1000


def _end(fact: TurnEnd) -> str:
    if isinstance(fact, TaskDeferred):
        return fact.reason if fact.reason in {"snoozed", "stopped"} else "retried"
    return _ENDS[type(fact)]
