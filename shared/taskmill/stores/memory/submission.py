"""Admission and the due set, in memory."""

from collections.abc import Sequence

from msgspec.structs import replace

from taskmill.core.lifetimes import USUAL, Lifetimes
from taskmill.core.owed import Cleared, Cold, Owed, OwedKey, OwedKind
from taskmill.core.task import Envelope, Status, TaskId
from taskmill.core.time import in_ms
from taskmill.core.timing import is_delayed
from taskmill.stores.memory.hot import MemoryHot, Record, record_of
from taskmill.submission.admission import AdmittedBefore, Conflict, Created, Replayed, Verdict


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
        self._hot.due.pop(name, None)
        record = self._hot.record(name.id)
        if record is None or record.generation != name.generation:
            return Cleared.OTHER_GENERATION
        return Cleared.DONE


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
        due = sorted((at, str(name), name) for name, (at, _) in self._hot.due.items() if at <= now)
        taken: list[tuple[OwedKey, Owed]] = []
        for _, _, name in due[:most]:
            _, owed = self._hot.due[name]
            self._hot.due[name] = (now + self._hold, owed)
            taken.append((name, owed))
        return taken

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
            record.is_key_alone = record.status is Status.SCHEDULED
            return record.is_key_alone
        self._hot.remove(task_id)
        return True
