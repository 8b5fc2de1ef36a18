"""The hot state in plain memory: what Redis holds, and how it forgets."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from msgspec import Raw

from taskmill.core.facts import Fact
from taskmill.core.owed import Cold, Owed, OwedKey
from taskmill.core.ports import Clock
from taskmill.core.task import Envelope, Millis, ShownSpec, Status, TaskId, shown
from taskmill.core.view import Absent, Ending, Reading, TaskView, Waiting
from taskmill.execution.lease import Loss


@dataclass(slots=True, kw_only=True)
class Holding:
    """Who runs the turn, and until when; without a source nobody knows who."""

    until_ms: int
    limit_ms: int | None
    source: str
    process: str


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
    """When it began for the first time, if that was another one."""
    holding: Holding | None = None
    dropped: set[str] = field(default_factory=set)
    untold: tuple[Loss, ...] = ()
    settled: tuple[int, int] | None = None
    """Turn and token of the last settlement."""
    last: tuple[Fact, ...] = ()
    ending: Ending | None = None
    waiting: Waiting | None = None
    cancel_requested: bool = False
    is_key_alone: bool = False
    """True when readers find it in the ledger: the record keeps what its key needs."""
    result: bytes | None = None
    ends_at_ms: int | None = None
    parked: int = 0
    """The slot of the latest entry that lets it wait for a worker."""


UNLISTED = 1 << 62
"""When an entry is due that is owed and that no due set names: never."""


class MemoryHot:
    """One shard. It is Cold until `open`, and again after `forget` and `restart`."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.is_open = False
        self.records: dict[TaskId, Record] = {}
        self.due: dict[OwedKey, tuple[int, Owed]] = {}
        self.lifetimes: dict[TaskId, int] = {}
        self.rebuild: tuple[str, int] | None = None
        """The word of the one who rebuilds it, and until when it stays."""

    def open(self) -> None:
        """Say that nothing is missing."""
        self.is_open = True

    def forget(self) -> None:
        """Lose everything, and the word that nothing is missing."""
        self.restart()
        self.records.clear()
        self.due.clear()
        self.lifetimes.clear()

    def restart(self) -> None:
        """Keep everything, but as another server, which nobody has vouched for yet."""
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
    """Return what is made of an envelope that has no record."""
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
    def __init__(self, hot: MemoryHot) -> None:
        self._hot = hot

    def read(self, ids: Sequence[TaskId]) -> Sequence[Reading]:
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
