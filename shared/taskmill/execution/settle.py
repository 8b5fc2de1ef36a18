"""Settles ended attempts together and publishes the resulting facts."""

import logging
from collections.abc import Sequence
from typing import Final, assert_never

from msgspec import Struct, field
from msgspec.structs import replace

from taskmill.core import codec
from taskmill.core.errors import StoreUnavailable
from taskmill.core.facts import (
    SNOOZED,
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
from taskmill.core.owed import Cold, Owed
from taskmill.core.task import Millis
from taskmill.core.time import in_ms
from taskmill.core.view import Ending, Waiting
from taskmill.execution.conclude import conclude
from taskmill.execution.context import RunContext, Running, named
from taskmill.execution.lease import CancelFirst, NextTurn, SettleAnswer, Settled, Settlement, Stale
from taskmill.execution.outcome import Attempt, Cancelled, End, Stored, Succeeded
from taskmill.lanes.lane import Leave

_log = logging.getLogger("taskmill.settle")

FACTS_TOGETHER: Final = 5 * codec.ENVELOPE_BATCH_MEMBERS
"""So many facts are sent at once: few large batches cost broker and recorder less than many."""


class Settler(Struct):
    """Attempts that have ended, and the facts about them on their way into the log."""

    run_context: RunContext
    ended: list[tuple[Running, Settlement]] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    """Valid facts that are not sent yet."""

    leaves: list[Leave] = field(default_factory=list)
    """What leaves the lane once these facts are in the log."""

    unconfirmed: tuple[list[Fact], list[Leave]] = ([], [])
    """The same for facts that were sent."""

    drops_before: int = 0
    """How often the bus had lost what was sent, before the first of these were."""

    facts_since_ms: int = 0
    settled_at_ms: int = 0
    sends_again_at_ms: int = 0
    log_is_away: bool = False
    """True when facts could not be sent: no task is taken until they are in the log."""

    gives_up_at_ms: int = 0
    """When an ending process stops retrying; 0 while it may stay."""

    is_refused: bool = False
    """True while Redis accepts no settlement: it is retried after a while."""

    @property
    def is_busy(self) -> bool:
        """Whether something is to be settled or sent."""
        return bool(self.ended or self.facts)

    def end(self, running: Running, end: End, *, now: int) -> None:
        """Conclude an attempt; one known to be cancelled that did not succeed ends as cancelled."""
        if running.cancel_requested and not isinstance(end, Succeeded | Stored):
            end = Cancelled()
        chance = 0.0 if isinstance(end, Succeeded) else self.run_context.chance()
        at_ms = Millis(now + running.ahead_ms)
        fact = conclude(running.attempt, end, now=at_ms, chance=chance)
        self.ended.append((running, _settlement(running, fact)))
        if isinstance(fact, TaskDied | TaskDeferred):
            _log_failure(fact, running)

    def add(self, facts: Sequence[Fact], leaves: Sequence[Leave]) -> None:
        """Take on facts of others, and what leaves the lane after them."""
        if not self.facts:
            self.facts_since_ms = self.run_context.clock()
        self.facts += facts
        self.leaves += leaves

    def settle(self, *, at_once: bool) -> None:
        """Settle together what has ended, at the latest a while after the last time."""
        now = self.run_context.clock()
        is_due = now - self.settled_at_ms >= in_ms(self.run_context.pace.settle)
        if not self.ended or not (is_due or (at_once and not self.is_refused)):
            return
        self.settled_at_ms = now
        self.is_refused = False
        ended, self.ended = self.ended, []
        self._settle_together(ended)

    def publish(self, *, at_once: bool) -> None:
        """Send facts in full batches, or when the first has waited a while."""
        now = self.run_context.clock()
        is_due = at_once or now - self.facts_since_ms >= in_ms(self.run_context.pace.settle)
        is_full = len(self.facts) >= FACTS_TOGETHER
        if not self.facts or not (is_due or is_full) or now < self.sends_again_at_ms:
            return
        facts, leaves = self.unconfirmed
        if not facts:
            self.drops_before = self.run_context.bus.drops
        self.unconfirmed = (facts + self.facts, leaves + self.leaves)
        sent, self.facts, self.leaves = self.facts, [], []
        try:
            self.run_context.bus.send_facts(sent)
        except StoreUnavailable as error:
            self._send_again(error)

    def confirm(self, *, may_wait: bool) -> list[Leave]:
        """Return what leaves the lane, now that the facts about it are in the log.

        While tasks run nobody waits for the log, so that no heartbeat is late.

        A process that dies before loses nothing: the records keep what was settled, and the lane's
        tick publishes it.
        """
        facts, leaves = self.unconfirmed
        if facts:
            try:
                if not self._is_flushed(may_wait=may_wait):
                    return []
            except StoreUnavailable as error:
                self._send_again(error)
                return []
            self.sends_again_at_ms, self.log_is_away = 0, False
        elif not self.facts:
            leaves, self.leaves = leaves + self.leaves, []
        self.unconfirmed = ([], [])
        return leaves

    def _is_flushed(self, *, may_wait: bool) -> bool:
        bus = self.run_context.bus
        if may_wait:
            bus.flush()
        if not (may_wait or bus.is_flushed()):
            return False
        if bus.drops != self.drops_before:
            raise StoreUnavailable(
                "Kafka", "what was sent was lost with the failure of something else"
            )
        return True

    def _send_again(self, error: StoreUnavailable) -> None:
        _log.warning("facts were not published", extra={"store": error.store, "why": error.why})
        if self._must_end():
            self.facts, self.leaves, self.unconfirmed = [], [], ([], [])
            return
        facts, leaves = self.unconfirmed
        self.facts, self.leaves = facts + self.facts, leaves + self.leaves
        self.unconfirmed = ([], [])
        pause = in_ms(self.run_context.pace.settle)
        self.sends_again_at_ms, self.log_is_away = self.run_context.clock() + pause, True

    def _settle_together(self, ended: Sequence[tuple[Running, Settlement]]) -> None:
        """Keep the valid facts; tasks cancelled meanwhile are settled again at once."""
        cancelled: list[tuple[Running, Settlement]] = []
        for (running, settlement), answer in zip(ended, self._answers(ended), strict=True):
            match answer:
                case Settled(stands):
                    self.add(stands, [running.leave])
                case Stale():
                    _log.warning("stale settle", extra=named(settlement.envelope))
                case CancelFirst():
                    cancelled.append((running, self._cancelled(running)))
                case Cold():
                    self._keep(running, settlement)
                case _:
                    assert_never(answer)
        if cancelled:
            self._settle_together(cancelled)

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
        """Try again while there is time; afterwards the lane's tick finds the task."""
        if not self._must_end():
            self.is_refused = True
            self.ended.append((running, settlement))

    def _must_end(self) -> bool:
        is_late = self.run_context.remaining() <= self.run_context.pace.margin
        return is_late or 0 < self.gives_up_at_ms <= self.run_context.clock()


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
    facts = (*_losses(running), fact) if running.unreported else (fact,)
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
        case TaskSucceeded():
            return Ending(finished_at_ms=fact.at_ms, result_ref=fact.result_ref)
        case TaskDeferred():
            return None
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
    following = replace(
        envelope,
        turn=envelope.turn + 1,
        attempt=fact.next_attempt,
        order_ms=fact.due_at_ms if fact.reason == SNOOZED else envelope.order_ms,
    )
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
