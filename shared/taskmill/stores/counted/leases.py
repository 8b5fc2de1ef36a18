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
from taskmill.execution.ports import Leases
from taskmill.stores.counted.bus import tally

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


class CountedLeases:
    def __init__(self, leases: Leases, counters: Counters) -> None:
        self._leases = leases
        self._counters = counters

    def claim(self, claims: Sequence[Claim]) -> Sequence[ClaimAnswer]:
        answers = self._leases.claim(claims)
        given = list(zip((claim.envelope for claim in claims), answers, strict=True))
        words = ((envelope.type, CLAIMS[type(answer)]) for envelope, answer in given)
        for (type_, word), turns in tally(words):
            self._counters.count(Count.CLAIMS, turns, type=type_, answer=word)
        self._begun([(envelope, answer) for envelope, answer in given if type(answer) is Claimed])
        return answers

    def extend(self, leases: Sequence[Lease]) -> Sequence[Beat]:
        beats = self._leases.extend(leases)
        self._counters.count(Count.LEASES_LOST, beats.count(Beat.LOST))
        return beats

    def settle(self, settlements: Sequence[Settlement]) -> Sequence[SettleAnswer]:
        answers = self._leases.settle(settlements)
        for word, ends in tally(SETTLEMENTS[type(answer)] for answer in answers):
            self._counters.count(Count.SETTLEMENTS, ends, answer=word)
        self._ended(
            [
                fact
                for settlement, answer in zip(settlements, answers, strict=True)
                if type(answer) is Settled
                for fact in settlement.facts
                if isinstance(fact, TurnEnd)
            ]
        )
        return answers

    def _begun(self, given: Sequence[tuple[Envelope, Claimed]]) -> None:
        for type_, losses in tally(one.type for one, claimed in given if claimed.is_take_over):
            self._counters.count(Count.LOSSES, losses, type=type_)
        waits = (
            (one.type, _seconds(one.created_at_ms, claimed.started_at_ms))
            for one, claimed in given
            if one.turn == 1 and not claimed.is_take_over
        )
        for type_, seconds in _by_type(waits):
            self._counters.time(Span.WAIT, *seconds, type=type_)

    def _ended(self, facts: Sequence[TurnEnd]) -> None:
        for (type_, end), attempts in tally((fact.type, _end(fact)) for fact in facts):
            self._counters.count(Count.ATTEMPTS, attempts, type=type_, end=end)
        tries = (
            (fact.type, _seconds(fact.started_at_ms, fact.at_ms))
            for fact in facts
            if fact.started_at_ms is not None
        )
        for type_, seconds in _by_type(tries):
            self._counters.time(Span.ATTEMPT, *seconds, type=type_)
        for fact in facts:
            if isinstance(fact, TaskDeferred | TaskDied) and fact.reason == "timeout":
                self._counters.count(Count.TIMEOUTS, type=fact.type)
            if isinstance(fact, TaskDied):
                self._counters.count(Count.DEAD, type=fact.type, reason=fact.reason)


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
