"""Leases in Redis: claim, extend, settle."""

from collections.abc import Sequence
from typing import Any

from taskmill.core import codec
from taskmill.core.facts import Fact
from taskmill.core.lifetimes import GRACE_AFTER_DEADLINE, UNKEYED_RECORD, USUAL, Lifetimes
from taskmill.core.owed import Cold
from taskmill.core.task import Envelope, Millis, TaskId, shown
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
    SettleAnswer,
    Settled,
    Settlement,
    Stale,
    Suspect,
    TurnOver,
    latest_claim_ms,
)
from taskmill.stores.redis import scripts
from taskmill.stores.redis.keys import ShardKeys, shard_keys
from taskmill.stores.redis.scripts import Script
from taskmill.stores.redis.session import Argument, Call, Session


class RedisLeases:
    def __init__(
        self,
        session: Session,
        *,
        shards: int,
        lifetimes: Lifetimes = USUAL,
    ) -> None:
        self._session = session
        self._shards = shards
        self._lease = in_ms(lifetimes.lease)
        self._window = in_ms(lifetimes.window)
        self._grace = in_ms(lifetimes.grace)
        self._adoption_age = in_ms(lifetimes.adoption_age)
        self._claim = scripts.load_for_many("execution/claim_turn")
        self._extend = scripts.load_for_many("execution/extend_lease")
        self._settle = scripts.load_for_many("execution/settle_turn")

    def claim(self, claims: Sequence[Claim]) -> Sequence[ClaimAnswer]:
        calls = [self._claim_call(one) for one in claims]
        answers = self._call(self._claim, claims, calls, unreadable=[b"COLD"])
        return [_claim_answer(answer) for answer in answers]

    def _call(
        self,
        script: Script,
        requests: Sequence[Claim | Settlement],
        calls: Sequence[Call],
        *,
        unreadable: Any,
    ) -> Sequence[Any]:
        """Call *script*, and again for the few items whose record must be created first."""
        answers = self._session.call(script, calls, unreadable=unreadable)
        unknown = [at for at, answer in enumerate(answers) if not answer]
        described: list[Call] = []
        for at in unknown:
            keys, arguments = calls[at]
            described.append((keys, [*arguments, *_description(requests[at].envelope)]))
        again = self._session.call(script, described, unreadable=unreadable)
        for at, answer in zip(unknown, again, strict=True):
            answers[at] = answer
        return answers

    def _claim_call(self, claim: Claim) -> Call:
        envelope = claim.envelope
        keys = self._keys(envelope.id)
        return [keys.marker, keys.record(envelope.id), keys.lifetimes], [
            envelope.id,
            envelope.generation,
            envelope.turn,
            envelope.attempt,
            claim.source,
            "" if (latest := latest_claim_ms(claim, lease_ms=self._lease)) is None else latest,
            self._lease,
            in_ms(claim.timeout + GRACE_AFTER_DEADLINE),
            "" if claim.alone else LOSSES_IN_COMPANY,
            self._adoption_age,
        ]

    def extend(self, leases: Sequence[Lease]) -> Sequence[Beat]:
        calls: list[Call] = []
        for lease in leases:
            keys = self._keys(lease.id)
            calls.append(
                (
                    [keys.marker, keys.record(lease.id)],
                    [
                        lease.generation,
                        lease.turn,
                        lease.token,
                        self._lease,
                        lease.source,
                        "1" if lease.is_sure else "",
                    ],
                )
            )
        answers = self._session.call(self._extend, calls, unreadable=b"COLD")
        return [_BEATS[answer] for answer in answers]

    def settle(self, settlements: Sequence[Settlement]) -> Sequence[SettleAnswer]:
        calls = [self._settle_call(one) for one in settlements]
        answers = self._call(self._settle, settlements, calls, unreadable=[b"COLD", b""])
        return [
            _settle_answer(answer, settlement.facts)
            for settlement, answer in zip(settlements, answers, strict=True)
        ]

    def _settle_call(self, settlement: Settlement) -> Call:
        envelope = settlement.envelope
        keys = self._keys(envelope.id)
        record = keys.record(envelope.id)
        return [keys.marker, record, keys.due, keys.owed, keys.lifetimes], [
            envelope.id,
            envelope.generation,
            envelope.turn,
            settlement.token,
            settlement.status,
            codec.encode(settlement.facts),
            codec.encode(settlement.ending) if settlement.ending else "",
            settlement.result or "",
            envelope.attempt,
            *_next_turn(settlement),
            self._window,
            self._grace,
            in_ms(UNKEYED_RECORD),
            self._adoption_age,
        ]

    def _keys(self, task_id: TaskId) -> ShardKeys:
        return shard_keys(task_id, self._shards)


def _next_turn(settlement: Settlement) -> tuple[Argument, ...]:
    following = settlement.next
    if following is None:
        return "", "", ""
    waiting = following.waiting
    return waiting.due_at_ms, codec.encode(following.owed), codec.encode(waiting)


def _description(envelope: Envelope) -> tuple[Argument, ...]:
    """Return what a missing record is created from."""
    return (
        envelope.submission,
        envelope.submitted or envelope.generation,
        envelope.fingerprint,
        "1" if envelope.idempotency_key else "",
        codec.encode(shown(envelope)),
    )


_BEATS = {b"HELD": Beat.HELD, b"LOST": Beat.LOST, b"CANCEL": Beat.CANCEL, b"COLD": Beat.COLD}


def _claim_answer(answer: Any) -> ClaimAnswer:
    match answer:
        case [b"CLAIMED", token, losses, started, unreported, cancel_requested]:
            return Claimed(
                token=int(token),
                losses=int(losses),
                started_at_ms=Millis(int(started)),
                unreported=tuple(_loss(text) for text in unreported.split()),
                cancel_requested=cancel_requested == b"1",
            )
        case [b"SUSPECT", losses]:
            return Suspect(int(losses))
        case [b"HELD"]:
            return HeldLease()
        case [b"LATE"]:
            return Late()
        case [b"OVER", facts]:
            return TurnOver(codec.open_fact_list(facts))
        case [b"FORGOTTEN"]:
            return Forgotten()
        case _:
            return Cold()


def _loss(text: bytes) -> Loss:
    token, losses, started, at = (int(number) for number in text.split(b"|"))
    return Loss(token=token, losses=losses, started_at_ms=Millis(started), at_ms=Millis(at))


def _settle_answer(answer: Any, facts: Sequence[Fact]) -> SettleAnswer:
    match answer:
        case [b"SETTLED", before]:
            return Settled(codec.open_fact_list(before) or tuple(facts))
        case [b"STALE", _]:
            return Stale()
        case [b"CANCEL", _]:
            return CancelFirst()
        case _:
            return Cold()
