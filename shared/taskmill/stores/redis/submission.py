"""Admission and the due set, in Redis."""

from collections.abc import Sequence
from typing import Any

from taskmill.core import codec
from taskmill.core.lifetimes import USUAL, Lifetimes
from taskmill.core.owed import HELD_ALONE, Cleared, Cold, Owed, OwedKey, OwedKind
from taskmill.core.task import Envelope, TaskId, shown
from taskmill.core.time import in_ms
from taskmill.stores.redis import scripts
from taskmill.stores.redis.keys import ShardKeys, shard_keys
from taskmill.stores.redis.session import Call, Session
from taskmill.submission.admission import AdmittedBefore, Conflict, Created, Replayed, Verdict


class RedisAdmission:
    def __init__(
        self,
        session: Session,
        *,
        shards: int,
        lifetimes: Lifetimes = USUAL,
    ) -> None:
        self._session = session
        self._shards = shards
        self._window = in_ms(lifetimes.window)
        self._hold = in_ms(lifetimes.hold)
        self._admit = scripts.load_for_many("submission/admit")
        self._clear = scripts.load_for_many("submission/clear_owed")

    def admit(self, envelopes: Sequence[Envelope]) -> Sequence[Verdict]:
        calls = [self._call(one) for one in envelopes]
        answers = self._session.call(self._admit, calls, unreadable=[b"COLD", b"0", b""])
        return [_verdict(answer) for answer in answers]

    def _call(self, envelope: Envelope) -> Call:
        keys = shard_keys(envelope.id, self._shards)
        record = keys.record(envelope.id)
        return [keys.marker, record, keys.due, keys.owed, keys.lifetimes], [
            envelope.id,
            envelope.submission,
            envelope.fingerprint,
            "1" if envelope.idempotency_key else "",
            codec.encode(shown(envelope)),
            codec.tail_of(envelope),
            self._window,
            self._hold,
            *_timing(envelope),
            "1" if envelope.deferred else "",
        ]

    def clear(self, published: Sequence[OwedKey]) -> Sequence[Cleared]:
        calls: list[Call] = []
        for name in published:
            keys = shard_keys(name.id, self._shards)
            calls.append(
                (
                    [keys.marker, keys.record(name.id), keys.due, keys.owed],
                    [spell(name), name.generation, _hold(name)],
                )
            )
        answers = self._session.call(self._clear, calls, unreadable=b"OTHER")
        return [_CLEARED[answer] for answer in answers]


def _timing(envelope: Envelope) -> tuple[int | str, int | str]:
    """Return when it should start: at a time, or a delay after its submission."""
    timing = envelope.timing
    if timing is None:
        return "", ""
    if timing.delay_ms is not None:
        return "", timing.delay_ms
    return "" if timing.run_at_ms is None else timing.run_at_ms, ""


_CLEARED = {
    b"DONE": Cleared.DONE,
    b"OTHER": Cleared.OTHER_GENERATION,
    b"LATE": Cleared.LATE,
    b"COLD": Cleared.COLD,
}


def _verdict(answer: Any) -> Verdict:
    kind, generation, owed = answer
    match kind:
        case b"CREATED":
            return Created(int(generation))
        case b"BEFORE":
            return AdmittedBefore(int(generation), _owed(owed))
        case b"REPLAYED":
            return Replayed(int(generation), _owed(owed))
        case b"CONFLICT":
            return Conflict(int(generation), _owed(owed))
        case _:
            return Cold()


def _owed(value: bytes) -> Owed | None:
    return codec.open_owed(value) if value else None


def _or_nothing(value: bytes) -> bytes:
    return value or b"{}"


def _hold(name: OwedKey) -> int | str:
    """Return the caller's hold; submissions and parked turns are cleared whoever has them."""
    return "" if name.hold is None or name.kind not in HELD_ALONE else name.hold


def spell(name: OwedKey) -> str:
    spelled = f"{name.id}|{name.generation}|{name.turn}|{name.kind}"
    return f"{spelled}|{name.slot}" if name.slot else spelled


def read(member: bytes, value: bytes = b"", *, hold: int | None = None) -> OwedKey:
    """Return the name of an entry, with the envelope from its *value*."""
    task_id, generation, turn, kind, *slot = member.decode().split("|")
    return OwedKey(
        id=TaskId(task_id),
        generation=int(generation),
        turn=int(turn),
        kind=OwedKind(kind),
        slot=int(slot[0]) if slot else 0,
        task=codec.owed_task(value) if value else b"",
        hold=hold,
    )


class RedisDueSet:
    """The due set as the scheduler sees it: over all shards."""

    def __init__(
        self,
        session: Session,
        *,
        shards: int,
        lifetimes: Lifetimes = USUAL,
    ) -> None:
        self._session = session
        self._shards = shards
        self._hold = in_ms(lifetimes.hold)
        self._admission = RedisAdmission(session, shards=shards, lifetimes=lifetimes)
        self._every_shard = [ShardKeys(shard, shards) for shard in range(shards)]
        self._take = scripts.load("dispatch/take_due")
        self._expired = scripts.load("dispatch/list_expired")
        self._forget = scripts.load("dispatch/forget_record")

    def take(self, *, most: int) -> Sequence[tuple[OwedKey, Owed]]:
        """Take up to *most* entries of each shard."""
        answers = self._session.call(
            self._take,
            [
                ([keys.marker, keys.due, keys.owed], [most, self._hold])
                for keys in self._every_shard
            ],
        )
        return [
            (read(member, value, hold=int(answer[0])), codec.open_owed(value))
            for answer in answers
            for member, value in zip(answer[1::2], map(_or_nothing, answer[2::2]), strict=True)
        ]

    def clear(self, published: Sequence[OwedKey]) -> Sequence[Cleared]:
        return self._admission.clear(published)

    def forget_expired(self, *, most: int) -> int:
        answers = self._session.call(
            self._expired, [([keys.marker, keys.lifetimes], [most]) for keys in self._every_shard]
        )
        ids = [TaskId(one.decode()) for answer in answers for one in answer]
        calls: list[Call] = []
        for task_id in ids:
            keys = shard_keys(task_id, self._shards)
            calls.append(([keys.marker, keys.record(task_id), keys.lifetimes], [task_id]))
        return sum(self._session.call(self._forget, calls, unreadable=0))
