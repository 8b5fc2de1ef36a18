"""Leases in memory: claim, extend, settle."""

from collections.abc import Sequence

from taskmill.core.lifetimes import GRACE_AFTER_DEADLINE, UNKEYED_RECORD, USUAL, Lifetimes
from taskmill.core.owed import Cold, OwedKey, OwedKind
from taskmill.core.task import Millis, Status
from taskmill.core.time import in_ms
from taskmill.execution.lease import (
    Beat,
    CancelFirst,
    Claim,
    ClaimAnswer,
    Claimed,
    Forgotten,
    HeldLease,
    Lease,
    LeaseRefused,
    Loss,
    NextTurn,
    SettleAnswer,
    Settled,
    Settlement,
    Stale,
    Suspect,
)
from taskmill.stores.memory.hot import Holding, MemoryHot, Record, record_of


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
        envelope = claim.envelope
        record = self._hot.record(envelope.id)
        if record is None and self._is_too_old(envelope.generation):
            return Forgotten()
        if record is not None and envelope.generation < record.generation:
            return LeaseRefused(record.last)
        if record is not None and envelope.generation == record.generation:
            return self._claim_known(claim, record)
        self._hot.remove(envelope.id)
        self._hot.records[envelope.id] = fresh = record_of(envelope)
        fresh.token = 0 if record is None else record.token
        return self._begin(claim, fresh)

    def _claim_known(self, claim: Claim, record: Record) -> ClaimAnswer:
        turn = claim.envelope.turn
        if record.status.is_final or turn < record.turn:
            return LeaseRefused(record.last)
        if turn > record.turn:
            if record.losses and not claim.alone:
                return Suspect(record.losses)
            record.dropped, record.unreported, record.holding = set(), (), None
            return self._begin(claim, record)
        refusal = self._refusal(claim, record)
        if refusal is not None:
            return refusal
        is_loss = _takes_over(claim, record.holding)
        losses = record.losses + is_loss
        if losses and not claim.alone:
            return Suspect(losses)
        if is_loss:
            record.losses += 1
            record.unreported += (self._loss(record),)
        return self._begin(claim, record)

    def _loss(self, record: Record) -> Loss:
        return Loss(
            token=record.token,
            losses=record.losses,
            started_at_ms=Millis(record.started_at_ms or 0),
            at_ms=Millis(self._hot.clock()),
        )

    def _refusal(self, claim: Claim, record: Record) -> LeaseRefused | HeldLease | None:
        holding, source = record.holding, claim.source
        if holding is None:
            return None
        if holding.until_ms > self._hot.clock():
            if holding.source not in {None, source}:
                record.dropped.add(source)
                return LeaseRefused(record.last)
            if (holding.source, holding.process) != (source, claim.process):
                return HeldLease()
        is_dropped = holding.source != source and source in record.dropped
        return LeaseRefused(record.last) if is_dropped else None

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
            process=claim.process,
        )
        return Claimed(
            token=record.token,
            losses=record.losses,
            started_at_ms=Millis(now),
            unreported=record.unreported,
            cancel_requested=record.cancel_requested,
        )

    def extend(self, leases: Sequence[Lease]) -> Sequence[Beat]:
        return [self._extend(lease) for lease in leases]

    def _extend(self, lease: Lease) -> Beat:
        if not self._hot.is_open:
            return Beat.COLD
        record = self._hot.record(lease.id)
        turn = (lease.generation, lease.turn)
        if record is None or turn != (record.generation, record.turn):
            return Beat.LOST
        if record.status.is_final or lease.token < record.token:
            return Beat.LOST
        record.status, record.token = Status.RUNNING, lease.token
        until = self._hot.clock() + self._lease
        if record.holding is None:
            record.holding = Holding(until_ms=until, limit_ms=None, source=None, process="")
        limit = record.holding.limit_ms
        record.holding.until_ms = until if limit is None else min(until, limit)
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
        record.last, record.holding, record.dropped = settlement.facts, None, set()
        record.unreported = ()
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
    """Return whether the claim follows a dead holder; the same process only lost a reply."""
    if holding is None or holding.source is None:
        return False
    return (holding.source, holding.process) != (claim.source, claim.process)
