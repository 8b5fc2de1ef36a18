"""Leases in memory, and looks at turns in flight."""

from collections.abc import Sequence
from datetime import timedelta

from taskmill.core.lifetimes import (
    END_STAYS,
    ENDS_SOON,
    GRACE_AFTER_DEADLINE,
    UNKEYED_RECORD,
    USUAL,
    Lifetimes,
)
from taskmill.core.owed import Cold, OwedKey, OwedKind
from taskmill.core.task import Millis, Status, TaskId
from taskmill.core.time import in_ms
from taskmill.execution.lease import (
    LOSSES_IN_COMPANY,
    Beat,
    CancelFirst,
    Claim,
    ClaimAnswer,
    Claimed,
    Forgotten,
    HeldLease,
    Late,
    Lease,
    Loss,
    NextTurn,
    SettleAnswer,
    Settled,
    Settlement,
    Stale,
    Suspect,
    TurnOver,
    latest_claim_ms,
)
from taskmill.lanes.lane import Member, TurnIsFree, TurnIsGone, TurnIsOver, TurnLives, TurnState
from taskmill.stores.memory.hot import CLOSED, Holding, MemoryHot, Record, record_of

_SOON, _STAYS = in_ms(ENDS_SOON), in_ms(END_STAYS)


class MemoryLeases:
    def __init__(
        self,
        hot: MemoryHot,
        *,
        lifetimes: Lifetimes = USUAL,
    ) -> None:
        self._hot = hot
        self._lease = in_ms(lifetimes.lease)
        self._window = in_ms(lifetimes.window)
        self._grace = in_ms(lifetimes.grace)
        self._adoption_age = in_ms(lifetimes.adoption_age)

    def claim(self, claims: Sequence[Claim]) -> Sequence[ClaimAnswer]:
        return [self._claim(claim) for claim in claims]

    def _claim(self, claim: Claim) -> ClaimAnswer:
        if not self._hot.is_open:
            return Cold()
        latest = latest_claim_ms(claim, lease_ms=self._lease)
        if latest is not None and self._hot.clock() > latest:
            return Late()
        envelope = claim.envelope
        record = self._hot.record(envelope.id)
        if record is None and self._is_too_old(envelope.generation):
            return Forgotten()
        if record is not None and envelope.generation < record.generation:
            return TurnOver(record.last)
        if record is not None and envelope.generation == record.generation:
            return self._claim_known(claim, record)
        self._hot.remove(envelope.id)
        self._hot.records[envelope.id] = fresh = record_of(envelope)
        fresh.token = 0 if record is None else record.token
        return self._begin(claim, fresh)

    def _claim_known(self, claim: Claim, record: Record) -> ClaimAnswer:
        turn = claim.envelope.turn
        if record.status.is_final or turn < record.turn:
            return TurnOver(record.last)
        refusal = self._refusal(claim, record)
        if refusal is not None:
            return refusal
        is_loss = turn == record.turn and _takes_over(claim, record.holding)
        losses = record.losses + is_loss
        if losses > LOSSES_IN_COMPANY and not claim.alone:
            return Suspect(losses)
        if is_loss:
            record.losses += 1
            record.unreported += (self._loss(record),)
        if turn > record.turn:
            record.unreported, record.holding = (), None
        return self._begin(claim, record)

    def _loss(self, record: Record) -> Loss:
        return Loss(
            token=record.token,
            losses=record.losses,
            started_at_ms=Millis(record.started_at_ms or 0),
            at_ms=Millis(self._hot.clock()),
        )

    def _refusal(self, claim: Claim, record: Record) -> Claimed | HeldLease | None:
        """Return the answer of a lease that lives; the same one again to its own take."""
        holding, now = record.holding, self._hot.clock()
        if holding is None or holding.until_ms <= now:
            return None
        if holding.source != claim.source or record.turn != claim.envelope.turn:
            return HeldLease()
        holding.until_ms = now + self._lease
        return _claimed(record)

    def _begin(self, claim: Claim, record: Record) -> Claimed:
        now = self._hot.clock()
        record.token = max(record.token + 1, now * 1000)
        if record.started_at_ms is not None and record.first_started_at_ms is None:
            record.first_started_at_ms = Millis(record.started_at_ms)
        record.status, record.started_at_ms, record.ends_at_ms = Status.RUNNING, now, None
        record.turn, record.attempt = claim.envelope.turn, claim.envelope.attempt
        record.holding = Holding(
            until_ms=now + self._lease,
            limit_ms=now + in_ms(claim.timeout + GRACE_AFTER_DEADLINE),
            source=claim.source,
        )
        return _claimed(record)

    def extend(self, leases: Sequence[Lease]) -> Sequence[Beat]:
        return [self._extend(lease) for lease in leases]

    def _extend(self, lease: Lease) -> Beat:
        if not self._hot.is_open:
            return Beat.COLD
        record = self._hot.record(lease.id)
        turn = (lease.generation, lease.turn)
        if record is None or turn != (record.generation, record.turn):
            return Beat.LOST
        holding = record.holding
        if record.status.is_final or holding is None or not _is_theirs(lease, record, holding):
            return Beat.LOST
        record.status, record.token = Status.RUNNING, lease.token
        holding.source = holding.source or lease.source
        until, limit = self._hot.clock() + self._lease, holding.limit_ms
        holding.until_ms = until if limit is None else min(until, limit)
        return Beat.CANCEL if record.cancel_requested else Beat.HELD

    def settle(self, settlements: Sequence[Settlement]) -> Sequence[SettleAnswer]:
        return [self._settle(settlement) for settlement in settlements]

    def _settle(self, settlement: Settlement) -> SettleAnswer:
        if not self._hot.is_open:
            return Cold()
        record = self._hot.record(settlement.envelope.id)
        if record is None:
            return self._adopt(settlement)
        turn = (settlement.envelope.generation, settlement.envelope.turn)
        if turn[0] == record.generation and record.settled == (turn[1], settlement.token):
            return Settled(record.last)
        is_over = record.status.is_final or turn != (record.generation, record.turn)
        if is_over or settlement.token < record.token:
            return Stale()
        is_at_odds = settlement.status not in {Status.SUCCEEDED, Status.CANCELLED}
        if record.cancel_requested and is_at_odds:
            return CancelFirst()
        return self._end(settlement, record)

    def _adopt(self, settlement: Settlement) -> SettleAnswer:
        envelope = settlement.envelope
        if self._is_too_old(envelope.generation):
            return Stale()
        self._hot.records[envelope.id] = record = record_of(envelope)
        return self._end(settlement, record)

    def _end(self, settlement: Settlement, record: Record) -> Settled:
        record.status, record.token = settlement.status, settlement.token
        record.settled = (settlement.envelope.turn, settlement.token)
        record.last, record.holding, record.unreported = settlement.facts, None, ()
        if settlement.next is not None:
            self._owe(settlement, settlement.next, record)
            return Settled(settlement.facts)
        now = self._hot.clock()
        record.ending, record.result = settlement.ending, settlement.result
        if record.is_keyed:
            expires = max(now + self._grace, record.submitted + self._window)
            self._hot.lifetimes[settlement.envelope.id] = expires
        else:
            record.ends_at_ms = now + in_ms(UNKEYED_RECORD)
        return Settled(settlement.facts)

    def _owe(self, settlement: Settlement, following: NextTurn, record: Record) -> None:
        record.turn, record.waiting = settlement.envelope.turn + 1, following.waiting
        name = OwedKey(
            id=settlement.envelope.id,
            generation=record.generation,
            turn=record.turn,
            kind=OwedKind.TURN,
        )
        self._hot.due[name] = (following.waiting.due_at_ms, following.owed)

    def _is_too_old(self, generation: int) -> bool:
        return generation + self._adoption_age < self._hot.clock()


def _takes_over(claim: Claim, holding: Holding | None) -> bool:
    """Return whether the claim follows a dead holder; the same take only lost a reply."""
    return holding is not None and holding.source not in {None, claim.source}


def _is_theirs(lease: Lease, record: Record, holding: Holding) -> bool:
    """Return whether the caller has the lease, or may take one that a rebuild restored."""
    if holding.until_ms == CLOSED:
        return False
    if holding.source is None:
        return lease.is_sure and lease.token >= record.token
    return lease.token == record.token


def _claimed(record: Record) -> Claimed:
    return Claimed(
        token=record.token,
        losses=record.losses,
        started_at_ms=Millis(record.started_at_ms or 0),
        unreported=record.unreported,
        cancel_requested=record.cancel_requested,
    )


class MemoryTurns:
    def __init__(self, hot: MemoryHot, *, lifetimes: Lifetimes = USUAL) -> None:
        self._hot = hot
        self._adoption_age = in_ms(lifetimes.adoption_age)

    def look(self, members: Sequence[Member]) -> Sequence[TurnState]:
        return [self._look(member) for member in members]

    def _look(self, member: Member) -> TurnState:
        if not self._hot.is_open:
            return Cold()
        record = self._hot.record(member.id)
        if record is None:
            is_too_old = member.generation + self._adoption_age < self._hot.clock()
            return TurnIsGone() if is_too_old else TurnIsFree()
        if record.generation < member.generation:
            return TurnIsFree()
        if _is_over(record, member):
            self._keep(member.id, record)
            return TurnIsOver(record.last)
        return self._state(member, record)

    def _keep(self, task_id: TaskId, record: Record) -> None:
        """Let a record that is over outlast a log that is away."""
        soon, later = self._hot.clock() + _SOON, self._hot.clock() + _STAYS
        if record.ends_at_ms is not None and record.ends_at_ms < soon:
            record.ends_at_ms = later
        if self._hot.lifetimes.get(task_id, soon) < soon:
            self._hot.lifetimes[task_id] = later

    def _state(self, member: Member, record: Record) -> TurnState:
        holding, now = record.holding, self._hot.clock()
        if holding is not None and holding.until_ms > now:
            return TurnLives(timedelta(milliseconds=holding.until_ms - now))
        losses = record.losses + (record.turn == member.turn and _is_loss(holding))
        if holding is not None:
            holding.until_ms = CLOSED
        return TurnIsFree(alone=losses > LOSSES_IN_COMPANY)


def _is_over(record: Record, member: Member) -> bool:
    if record.generation > member.generation or record.status.is_final:
        return True
    return record.turn > member.turn


def _is_loss(holding: Holding | None) -> bool:
    """Return whether the next claim counts a loss: somebody known has left the turn."""
    return holding is not None and holding.source is not None
