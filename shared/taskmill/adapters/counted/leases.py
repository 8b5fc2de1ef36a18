"""Claims and settlements, counted and timed."""

from collections.abc import Mapping, Sequence
from typing import Final

from taskmill.domain.admission import (
    Cold,
)
from taskmill.domain.counting import Count, Span
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
    Refused,
    SettleAnswer,
    Settled,
    Settlement,
    Stale,
    Suspect,
)
from taskmill.domain.task import Envelope
from taskmill.ports.counters import Counters
from taskmill.ports.leases import Leases

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
