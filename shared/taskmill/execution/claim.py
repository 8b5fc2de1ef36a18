"""Claims what was taken from the lane: only a task with a lease may start."""

import logging
from collections.abc import Sequence
from datetime import timedelta
from typing import assert_never

from msgspec import Struct, field
from msgspec.structs import replace

from taskmill.core import codec
from taskmill.core.counting import Count
from taskmill.core.errors import StoreUnavailable, Undecodable
from taskmill.core.facts import Fact
from taskmill.core.owed import Cold
from taskmill.core.task import Envelope, Millis
from taskmill.core.time import in_ms
from taskmill.execution.context import RunContext, Running, named
from taskmill.execution.lease import (
    Claim,
    ClaimAnswer,
    Claimed,
    Forgotten,
    HeldLease,
    Late,
    Suspect,
    TurnOver,
)
from taskmill.execution.outcome import Attempt
from taskmill.lanes.lane import Leave, PutBack, TakenTask, member_of

_log = logging.getLogger("taskmill.claim")


class Candidate(Struct, frozen=True, kw_only=True):
    """A task that was taken, and is not claimed yet."""

    envelope: Envelope
    source: str
    look: int
    """When the lane looks at the record; 0 for a task that is in no lane."""
    epoch: str
    alone: bool
    taken_at_ms: int

    @property
    def leave(self) -> Leave:
        return Leave(member_of(self.envelope), self.epoch)

    @property
    def put_back(self) -> PutBack:
        member = member_of(self.envelope)
        return PutBack(type=self.envelope.type, member=member, look=self.look)


class Claims(Struct):
    """What became of claims. Where nothing is said, the lane's tick finds the task."""

    running: list[Running] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    """Facts that may not be in the log yet."""

    leaves: list[Leave] = field(default_factory=list)
    """What leaves the lane once these facts are in the log."""

    put_backs: list[PutBack] = field(default_factory=list)
    again: list[Candidate] = field(default_factory=list)
    """What is claimed once more: the reply was lost, or the clocks of two servers disagree."""


class _RoundTrip(Struct, frozen=True):
    """When claims were asked for and answered, by our own clock."""

    asked_at_ms: Millis
    answered_at_ms: Millis


class Claimer(Struct, frozen=True):
    run_context: RunContext

    def candidates(
        self, tasks: Sequence[TakenTask], *, epoch: str, alone: bool, taken_at_ms: int
    ) -> list[Candidate]:
        """Open what was taken; what only newer code can read is left to it."""
        candidates: list[Candidate] = []
        for task in tasks:
            try:
                envelope = codec.open_envelope(task.raw)
            except Undecodable as error:
                extra = {"task_id": task.member.id, "why": str(error)}
                _log.error("an envelope in the lane cannot be decoded", extra=extra)
                continue
            source = f"{self.run_context.process}|{task.look}"
            candidates.append(
                Candidate(
                    envelope=envelope,
                    source=source,
                    look=task.look,
                    epoch=epoch,
                    alone=alone,
                    taken_at_ms=taken_at_ms,
                )
            )
        return candidates

    def claim(self, candidates: Sequence[Candidate]) -> Claims:
        """Ask for the leases of *candidates*, all in one round trip."""
        claims = Claims()
        timeouts = self._timeouts(candidates)
        asked_at_ms = self.run_context.clock()
        try:
            answers = self.run_context.leases.claim(
                [_claim(one, span) for one, span in zip(candidates, timeouts, strict=True)]
            )
        except StoreUnavailable as error:
            _log.warning("claim failed", extra={"store": error.store, "why": error.why})
            claims.again += [one for one in candidates if self._is_fresh(one)]
            return claims
        round_trip = _RoundTrip(asked_at_ms, self.run_context.clock())
        for one, span, answer in zip(candidates, timeouts, answers, strict=True):
            self._hear(claims, one, answer, span, round_trip)
        return claims

    def _timeouts(self, candidates: Sequence[Candidate]) -> Sequence[timedelta]:
        """Return how long each may run: an invocation ends, whatever a task wants."""
        left = self.run_context.remaining() - self.run_context.pace.margin
        longest = max(min(self.run_context.longest, left), timedelta()).total_seconds()
        wanted = [one.envelope.timeout_seconds for one in candidates]
        spans = {one: timedelta(seconds=min(one, longest)) for one in set(wanted)}
        return [spans[one] for one in wanted]

    def _is_fresh(self, candidate: Candidate) -> bool:
        """Return whether, by our own clock, nobody looks at the record soon."""
        age = self.run_context.clock() - candidate.taken_at_ms
        return age < in_ms(self.run_context.pace.lease) // 2

    def _hear(
        self,
        claims: Claims,
        candidate: Candidate,
        answer: ClaimAnswer,
        timeout: timedelta,
        round_trip: _RoundTrip,
    ) -> None:
        match answer:
            case Claimed():
                claims.running.append(_running(candidate, timeout, answer, round_trip))
            case Suspect():
                claims.put_backs.append(_alone(candidate.put_back))
            case TurnOver(facts):
                claims.facts += facts
                claims.leaves.append(candidate.leave)
            case Forgotten():
                extra = named(candidate.envelope)
                _log.warning("task without a record is too old to adopt", extra=extra)
                claims.leaves.append(candidate.leave)
            case Late() if candidate.look and self._is_fresh(candidate):
                _log.error("clocks of two Redis servers differ", extra=named(candidate.envelope))
                self.run_context.counters.count(Count.CLOCKS_APART)
                claims.again.append(replace(candidate, look=0))
            case HeldLease() | Late() | Cold():
                pass  # the place is the holder's, or the tick's
            case _:
                assert_never(answer)


def _running(
    candidate: Candidate, timeout: timedelta, claimed: Claimed, round_trip: _RoundTrip
) -> Running:
    return Running(
        attempt=Attempt(
            envelope=candidate.envelope,
            token=claimed.token,
            losses=claimed.losses,
            started_at_ms=claimed.started_at_ms,
        ),
        source=candidate.source,
        leave=candidate.leave,
        timeout=timeout,
        answered_at_ms=round_trip.asked_at_ms,
        deadline_ms=round_trip.answered_at_ms + in_ms(timeout),
        ahead_ms=claimed.started_at_ms - round_trip.asked_at_ms,
        unreported=claimed.unreported,
        cancel_requested=claimed.cancel_requested,
    )


def _claim(candidate: Candidate, timeout: timedelta) -> Claim:
    return Claim(
        envelope=candidate.envelope,
        source=candidate.source,
        look=candidate.look,
        timeout=timeout,
        alone=candidate.alone,
    )


def _alone(put_back: PutBack) -> PutBack:
    return replace(put_back, alone=True)
