"""Settles ended attempts together and publishes the resulting facts."""

import logging
from collections.abc import Sequence
from typing import assert_never

from msgspec import Struct, field
from msgspec.structs import replace

from taskmill.core import codec
from taskmill.core.errors import StoreUnavailable
from taskmill.core.facts import (
    AttemptLost,
    Fact,
    TaskCancelled,
    TaskDeferred,
    TaskDied,
    TaskStarted,
    TaskSucceeded,
    TurnEnd,
)
from taskmill.core.lifecycle import status_after
from taskmill.core.log import Position
from taskmill.core.owed import Cold, Owed
from taskmill.core.task import Millis
from taskmill.core.time import in_ms
from taskmill.core.view import Ending, Waiting
from taskmill.execution.conclude import conclude
from taskmill.execution.context import RunContext, Running, named
from taskmill.execution.lease import CancelFirst, NextTurn, SettleAnswer, Settled, Settlement, Stale
from taskmill.execution.outcome import Attempt, Cancelled, End, Stored, Succeeded

_log = logging.getLogger("taskmill.settle")


class Settler(Struct):
    """Ended attempts that wait to be settled."""

    run_context: RunContext
    ended: list[tuple[Running, Settlement]] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    """Valid facts that are not sent yet."""

    facts_since_ms: int = 0
    failed: set[Position] = field(default_factory=set)
    settled_at_ms: int = 0
    gives_up_at_ms: int = 0
    """When an ending process stops retrying settlements; 0 while it may stay."""

    is_refused: bool = False
    """True while Redis accepts no settlement: it is retried after a while."""

    def end(self, running: Running, end: End) -> None:
        """Conclude an attempt; one known to be cancelled that did not succeed ends as cancelled."""
        if running.cancel_requested and not isinstance(end, Succeeded | Stored):
            end = Cancelled()
        now = Millis(self.run_context.clock() + running.ahead_ms)
        fact = conclude(running.attempt, end, now=now, chance=self.run_context.chance())
        self.ended.append((running, _settlement(running, fact)))
        if isinstance(fact, TaskDied | TaskDeferred):
            _log_failure(fact, running)

    def settle(self, *, is_idle: bool) -> None:
        """Settle when nothing runs, or when the last time was a while ago."""
        now = self.run_context.clock()
        is_due = now - self.settled_at_ms >= in_ms(self.run_context.pace.settle)
        if not self.ended or not (is_due or (is_idle and not self.is_refused)):
            return
        self.settled_at_ms = now
        self.is_refused = False
        ended, self.ended = self.ended, []
        if not self.facts:
            self.facts_since_ms = now
        self.facts += self._settled_together(ended)

    def publish(self, *, is_over: bool) -> None:
        """Send facts in full batches, when the first has waited a while, or at the end.

        A process that dies before loses nothing: the records keep what was settled, and the batch
        is redelivered.
        """
        waited = self.run_context.clock() - self.facts_since_ms
        is_due = is_over or waited >= in_ms(self.run_context.pace.settle)
        if self.facts and (is_due or len(self.facts) >= codec.ENVELOPE_BATCH_MEMBERS):
            facts, self.facts = self.facts, []
            self.run_context.bus.send_facts(facts)

    def _settled_together(self, ended: Sequence[tuple[Running, Settlement]]) -> list[Fact]:
        """Return the valid facts; tasks cancelled meanwhile are settled again at once."""
        facts: list[Fact] = []
        cancelled: list[tuple[Running, Settlement]] = []
        for (running, settlement), answer in zip(ended, self._answers(ended), strict=True):
            match answer:
                case Settled(stands):
                    facts.extend(stands)
                case Stale():
                    # The record is retried, and claim decides: the holder may have died meanwhile.
                    _log.warning("stale settle", extra=named(settlement.envelope))
                    self.failed.add(running.position)
                case CancelFirst():
                    cancelled.append((running, self._cancelled(running)))
                case Cold():
                    self._keep(running, settlement)
                case _:
                    assert_never(answer)
        return facts + (self._settled_together(cancelled) if cancelled else [])

    def _cancelled(self, running: Running) -> Settlement:
        now = Millis(self.run_context.clock() + running.ahead_ms)
        fact = conclude(running.attempt, Cancelled(), now=now, chance=0)
        return _settlement(running, fact)

    def _answers(self, ended: Sequence[tuple[Running, Settlement]]) -> Sequence[SettleAnswer]:
        try:
            return self.run_context.leases.settle([settlement for _, settlement in ended])
        except StoreUnavailable as error:
            _log.warning("settle failed", extra={"store": error.store, "why": error.why})
            return [Cold()] * len(ended)

    def _keep(self, running: Running, settlement: Settlement) -> None:
        must_end = 0 < self.gives_up_at_ms <= self.run_context.clock()
        if self.run_context.remaining() > self.run_context.pace.margin and not must_end:
            self.is_refused = True
            self.ended.append((running, settlement))
        else:
            self.failed.add(running.position)


def _log_failure(fact: TaskDied | TaskDeferred, running: Running) -> None:
    """Log why there is no success; at ERROR with the stack if the worker's code raised."""
    message = "task died" if isinstance(fact, TaskDied) else "task deferred"
    extra = named(running.attempt.envelope)
    extra |= {"reason": fact.reason, "error_class": fact.error_class}
    if fact.stack is None:
        _log.info(message, extra=extra)
    else:
        _log.error(
            message, extra=extra | {"error_message": fact.error_message, "stack": fact.stack}
        )


def _settlement(running: Running, fact: TurnEnd) -> Settlement:
    facts = (*_losses(running), fact)
    return Settlement(
        envelope=running.attempt.envelope,
        token=running.attempt.token,
        status=status_after(type(fact)),
        facts=facts,
        ending=_ending(fact),
        result=bytes(fact.result) if isinstance(fact, TaskSucceeded) else None,
        next=_next(running, fact, facts) if isinstance(fact, TaskDeferred) else None,
    )


def _ending(fact: TurnEnd) -> Ending | None:
    match fact:
        case TaskDeferred():
            return None
        case TaskSucceeded():
            return Ending(finished_at_ms=fact.at_ms, result_ref=fact.result_ref)
        case TaskCancelled():
            return Ending(finished_at_ms=fact.at_ms)
        case TaskDied():
            return Ending(
                finished_at_ms=fact.at_ms,
                reason=fact.reason,
                error_class=fact.error_class,
                error_message=fact.error_message,
                stack=fact.stack,
            )
        case _:
            assert_never(fact)


def _next(running: Running, fact: TaskDeferred, facts: tuple[Fact, ...]) -> NextTurn:
    envelope = running.attempt.envelope
    following = replace(envelope, turn=envelope.turn + 1, attempt=fact.next_attempt)
    return NextTurn(
        waiting=Waiting(
            due_at_ms=fact.due_at_ms,
            reason=fact.reason,
            error_class=fact.error_class,
            error_message=fact.error_message,
            stack=fact.stack,
        ),
        owed=Owed(facts=facts, task=following),
    )


def _losses(running: Running) -> Sequence[Fact]:
    """Return the facts about the attempts that this one took over from."""
    envelope = running.attempt.envelope
    return [
        AttemptLost(
            id=envelope.id,
            generation=envelope.generation,
            turn=envelope.turn,
            at_ms=loss.at_ms,
            type=envelope.type,
            tenant=envelope.tenant,
            attempt=envelope.attempt,
            token=loss.token,
            losses=loss.losses,
            started_at_ms=loss.started_at_ms,
        )
        for loss in running.unreported
    ]


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
