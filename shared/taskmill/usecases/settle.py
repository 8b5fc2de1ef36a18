"""Settles together what has ended, and publishes the facts that stand."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import assert_never

from taskmill.domain.admission import Cold
from taskmill.domain.errors import StoreUnavailable
from taskmill.domain.facts import AttemptLost, Fact, TaskDied, TaskStarted, TaskSucceeded
from taskmill.domain.lease import Ending, Position, SettleAnswer, Settled, Settlement, Stale
from taskmill.domain.lifecycle import status_after
from taskmill.domain.outcome import Attempt, End, conclude
from taskmill.domain.retention import in_ms
from taskmill.usecases.shop import MARGIN, SETTLE_AT_LEAST_EVERY, Running, Shop, named

_log = logging.getLogger("taskmill.settle")


@dataclass(slots=True)
class Exit:
    """The attempts that have ended and wait to be settled."""

    shop: Shop
    ended: list[tuple[Running, Settlement]] = field(default_factory=list)
    failed: set[Position] = field(default_factory=set)
    settled_at_ms: int = 0
    is_refused: bool = False
    """True while Redis cannot take a settlement: it is offered again after a while."""

    def end(self, running: Running, end: End) -> None:
        fact = conclude(running.attempt, end, now=self.shop.clock())
        self.ended.append((running, _settlement(running, fact)))
        if isinstance(fact, TaskDied):
            why = {"reason": fact.reason, "error_class": fact.error_class}
            _log.info("task died", extra=named(running.attempt.envelope) | why)

    def settle(self, *, is_idle: bool) -> None:
        """Settle when nothing runs, or when the last time is a while ago."""
        now = self.shop.clock()
        is_due = now - self.settled_at_ms >= in_ms(SETTLE_AT_LEAST_EVERY)
        if not self.ended or not (is_due or (is_idle and not self.is_refused)):
            return
        self.settled_at_ms = now
        self.is_refused = False
        ended, self.ended = self.ended, []
        facts: list[Fact] = []
        for (running, settlement), answer in zip(ended, self._answers(ended), strict=True):
            facts.extend(self._settled(running, settlement, answer))
        self.shop.bus.send_facts(facts)

    def _answers(self, ended: Sequence[tuple[Running, Settlement]]) -> Sequence[SettleAnswer]:
        try:
            return self.shop.leases.settle([settlement for _, settlement in ended])
        except StoreUnavailable as error:
            _log.warning("settling failed", extra={"store": error.store, "why": error.why})
            return [Cold()] * len(ended)

    def _settled(
        self, running: Running, settlement: Settlement, answer: SettleAnswer
    ) -> Sequence[Fact]:
        """Return the facts that stand."""
        match answer:
            case Settled(facts):
                return facts
            case Stale():
                # It comes again, and claim decides: the holder may have died meanwhile.
                _log.warning("stale settle", extra=named(settlement.envelope))
                self.failed.add(running.position)
            case Cold():
                self._keep(running, settlement)
            case _:
                assert_never(answer)
        return ()

    def _keep(self, running: Running, settlement: Settlement) -> None:
        if self.shop.remaining() > MARGIN:
            self.is_refused = True
            self.ended.append((running, settlement))
        else:
            self.failed.add(running.position)


def _settlement(running: Running, fact: TaskSucceeded | TaskDied) -> Settlement:
    return Settlement(
        envelope=running.attempt.envelope,
        token=running.attempt.token,
        status=status_after(type(fact)),
        facts=(*_loss(running), fact),
        ending=_ending(fact),
        result=bytes(fact.result) if isinstance(fact, TaskSucceeded) else None,
    )


def _ending(fact: TaskSucceeded | TaskDied) -> Ending:
    if isinstance(fact, TaskSucceeded):
        return Ending(finished_at_ms=fact.at_ms)
    return Ending(
        finished_at_ms=fact.at_ms,
        reason=fact.reason,
        error_class=fact.error_class,
        error_message=fact.error_message,
    )


def _loss(running: Running) -> tuple[Fact, ...]:
    """Tell of the attempt that this one took over from, if there was one."""
    if running.lost is None:
        return ()
    attempt = running.attempt
    envelope = attempt.envelope
    return (
        AttemptLost(
            id=envelope.id,
            generation=envelope.generation,
            turn=envelope.turn,
            at_ms=attempt.started_at_ms,
            type=envelope.type,
            tenant=envelope.tenant,
            attempt=envelope.attempt,
            token=running.lost,
            losses=attempt.losses,
            started_at_ms=attempt.started_at_ms,
        ),
    )


def started(attempt: Attempt) -> TaskStarted:
    envelope = attempt.envelope
    return TaskStarted(
        id=envelope.id,
        generation=envelope.generation,
        turn=envelope.turn,
        at_ms=attempt.started_at_ms,
        type=envelope.type,
        tenant=envelope.tenant,
        attempt=envelope.attempt,
        token=attempt.token,
        losses=attempt.losses,
        started_at_ms=attempt.started_at_ms,
    )
