"""What Redis holds, as plain values: records, the due set, and admission."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import Raw
from msgspec.structs import replace

from taskmill.core.errors import StoreUnavailable
from taskmill.core.facts import Fact
from taskmill.core.lifetimes import USUAL, Lifetimes
from taskmill.core.owed import HELD_ALONE, Cleared, Cold, Owed, OwedKey, OwedKind
from taskmill.core.ports import Clock
from taskmill.core.task import Envelope, Millis, ShownSpec, Status, TaskId, shown
from taskmill.core.time import in_ms, is_delayed
from taskmill.core.view import Absent, Ending, Reading, TaskView, Waiting
from taskmill.execution.lease import Loss
from taskmill.stores.memory.lanes.lane import MemoryLaneSet
from taskmill.submission.admission import AdmittedBefore, Conflict, Created, Replayed, Verdict

CLOSED = 0
"""The end of a lease that lapsed and was closed: nobody extends it."""


@dataclass(slots=True, kw_only=True)
class Holding:
    """Who runs the turn, and until when; without a source the holder is unknown."""

    until_ms: int
    limit_ms: int | None
    source: str | None


@dataclass(slots=True, kw_only=True)
class Record:
    generation: int
    submitted: int
    submission: str
    fingerprint: str
    is_keyed: bool
    spec: ShownSpec
    status: Status = Status.QUEUED
    turn: int = 1
    attempt: int = 1
    token: int = 0
    losses: int = 0
    started_at_ms: int | None = None
    first_started_at_ms: Millis | None = None
    """The time of the first start, if there was an earlier one."""
    holding: Holding | None = None
    unreported: tuple[Loss, ...] = ()
    settled: tuple[int, int] | None = None
    """Turn and fencing token of the last settlement."""
    last: tuple[Fact, ...] = ()
    ending: Ending | None = None
    waiting: Waiting | None = None
    cancel_requested: bool = False
    is_key_alone: bool = False
    """True when readers use the ledger: the record keeps only what its key needs."""
    is_deferred: bool = False
    """Whether the log had the submission before, and may deliver it again."""
    is_shelved: bool | None = None
    """True when it may end because only the ledger keeps the task; False once it was brought in."""
    result: bytes | None = None
    ends_at_ms: int | None = None
    parked: int = 0
    """The slot of the latest entry that parks it."""


UNLISTED = 1 << 62
"""The due time of owed entries missing from the due set: never."""


class MemoryHot:
    """One shard, and all lanes. They are cold until `open`, and again after a loss or a restart."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.is_open = False
        self.records: dict[TaskId, Record] = {}
        self.due: dict[OwedKey, tuple[int, Owed]] = {}
        self.lifetimes: dict[TaskId, int] = {}
        self.rebuild: tuple[str, int] | None = None
        """The nonce of the current rebuild, and its expiry."""
        self.lanes = MemoryLaneSet()

    def open(self) -> None:
        """Declare the data of the shard complete; `lanes.open` does so for the lanes."""
        self.is_open = True

    def forget(self) -> None:
        """Lose everything, including the declaration that the data is complete."""
        self.forget_shards()
        self.forget_lanes()

    def forget_shards(self) -> None:
        self._restart_shards()
        self.records.clear()
        self.due.clear()
        self.lifetimes.clear()

    def forget_lanes(self) -> None:
        self.lanes.forget()

    def restart(self) -> None:
        """Keep everything, but as another server that nobody has vouched for yet."""
        self._restart_shards()
        self.lanes.restart()

    def _restart_shards(self) -> None:
        self.is_open = False
        self.rebuild = None

    def record(self, task_id: TaskId) -> Record | None:
        record = self.records.get(task_id)
        if record and record.ends_at_ms is not None and record.ends_at_ms <= self.clock():
            return self.records.pop(task_id) and None
        return record

    def remove(self, task_id: TaskId) -> None:
        self.records.pop(task_id, None)
        self.lifetimes.pop(task_id, None)


def record_of(envelope: Envelope) -> Record:
    """Return a new record for an envelope that has none."""
    return Record(
        generation=envelope.generation,
        submitted=envelope.submitted or envelope.generation,
        submission=envelope.submission,
        fingerprint=envelope.fingerprint,
        is_keyed=bool(envelope.idempotency_key),
        spec=shown(envelope),
        turn=envelope.turn,
        attempt=envelope.attempt,
    )


class MemoryRecords:
    """Records for readers. While `is_away`, they are unavailable."""

    def __init__(self, hot: MemoryHot) -> None:
        self.is_away = False
        self._hot = hot

    def read(self, ids: Sequence[TaskId]) -> Sequence[Reading]:
        if self.is_away:
            raise StoreUnavailable("Redis", "it is set to be unavailable")
        return [self._read(task_id) for task_id in ids]

    def _read(self, task_id: TaskId) -> Reading:
        if not self._hot.is_open:
            return Cold()
        record = self._hot.record(task_id)
        if record is None or record.is_key_alone:
            return Absent()
        return TaskView(
            id=task_id,
            spec=record.spec,
            status=record.status,
            generation=record.generation,
            attempt=record.attempt,
            losses=record.losses,
            started_at_ms=None if record.started_at_ms is None else Millis(record.started_at_ms),
            ending=record.ending,
            result=Raw(record.result) if record.result else None,
            waiting=record.waiting if record.status is Status.RETRYING else None,
            cancel_requested=record.cancel_requested,
            first_started_at_ms=record.first_started_at_ms,
        )


class MemoryAdmission:
    def __init__(
        self,
        hot: MemoryHot,
        *,
        lifetimes: Lifetimes = USUAL,
    ) -> None:
        self._hot = hot
        self._window = in_ms(lifetimes.window)
        self._hold = in_ms(lifetimes.hold)

    def admit(self, envelopes: Sequence[Envelope]) -> Sequence[Verdict]:
        return [self._admit(envelope) for envelope in envelopes]

    def _admit(self, envelope: Envelope) -> Verdict:
        if not self._hot.is_open:
            return Cold()
        now = self._hot.clock()
        record = self._hot.record(envelope.id)
        if record is None:
            return self._create(envelope, now, token=0)
        owed = self._owed(envelope.id, record)
        if record.submission == envelope.submission:
            return AdmittedBefore(record.generation, owed)
        expires = self._hot.lifetimes.get(envelope.id, record.submitted + self._window)
        if record.status.is_final and now >= expires:
            return self._create(envelope, max(now, record.generation + 1), token=record.token)
        if record.fingerprint == envelope.fingerprint:
            return Replayed(record.generation, owed)
        return Conflict(record.generation, owed)

    def _create(self, envelope: Envelope, generation: int, *, token: int) -> Created:
        admitted = replace(envelope, generation=generation)
        self._hot.remove(envelope.id)
        self._hot.records[envelope.id] = record = record_of(admitted)
        record.submitted, record.token = generation, token
        record.is_deferred = envelope.deferred
        record.status = Status.SCHEDULED if is_delayed(admitted) else Status.QUEUED
        name = _submission(envelope.id, generation)
        self._hot.due[name] = (self._hot.clock() + self._hold, Owed(task=admitted))
        return Created(generation)

    def _owed(self, task_id: TaskId, record: Record) -> Owed | None:
        _, owed = self._hot.due.get(_submission(task_id, record.generation), (0, None))
        return owed

    def clear(self, published: Sequence[OwedKey]) -> Sequence[Cleared]:
        return [self._clear(name) for name in published]

    def _clear(self, name: OwedKey) -> Cleared:
        if not self._hot.is_open:
            return Cleared.COLD
        if self._is_late(name):
            return Cleared.LATE
        self._hot.due.pop(name, None)
        record = self._hot.record(name.id)
        if record is None or record.generation != name.generation:
            return Cleared.OTHER_GENERATION
        return Cleared.DONE

    def _is_late(self, name: OwedKey) -> bool:
        """Return whether its hold ran out or another has it: for turns and facts of orders."""
        if name.kind not in HELD_ALONE or name.hold is None:
            return False
        due_at_ms, _ = self._hot.due.get(name, (None, None))
        return name.hold <= self._hot.clock() or due_at_ms != name.hold


def _submission(task_id: TaskId, generation: int) -> OwedKey:
    return OwedKey(id=task_id, generation=generation, turn=1, kind=OwedKind.SUBMISSION)


class MemoryDueSet:
    def __init__(self, hot: MemoryHot, *, lifetimes: Lifetimes = USUAL) -> None:
        self._hot = hot
        self._hold = in_ms(lifetimes.hold)
        self._admission = MemoryAdmission(hot, lifetimes=lifetimes)

    def take(self, *, most: int) -> Sequence[tuple[OwedKey, Owed]]:
        if not self._hot.is_open:
            return []
        now = self._hot.clock()
        hold = now + self._hold
        due = sorted((at, str(name), name) for name, (at, _) in self._hot.due.items() if at <= now)
        entries: list[tuple[OwedKey, Owed]] = []
        for _, _, name in due[:most]:
            _, owed = self._hot.due[name]
            self._hot.due[name] = (hold, owed)
            entries.append((dataclasses.replace(name, hold=hold), owed))
        return entries

    def clear(self, published: Sequence[OwedKey]) -> Sequence[Cleared]:
        return self._admission.clear(published)

    def forget_expired(self, *, most: int) -> int:
        if not self._hot.is_open:
            return 0
        now = self._hot.clock()
        over = sorted((at, task_id) for task_id, at in self._hot.lifetimes.items() if at <= now)
        return sum(self._forget(task_id) for _, task_id in over[:most])

    def _forget(self, task_id: TaskId) -> bool:
        del self._hot.lifetimes[task_id]
        record = self._hot.record(task_id)
        if record is not None and not record.status.is_final:
            is_shelved = record.status is Status.QUEUED and record.is_shelved is True
            record.is_key_alone = record.status is Status.SCHEDULED or is_shelved
            return record.is_key_alone
        self._hot.remove(task_id)
        return True
