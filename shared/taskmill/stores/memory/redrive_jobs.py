"""Redrive jobs in memory."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from msgspec.structs import replace

from taskmill.core.ports import Clock
from taskmill.core.task import Millis, Status, TaskId
from taskmill.ledger.listing import TaskFilter
from taskmill.orders.redrive_job import (
    LIVING,
    Done,
    Item,
    JobState,
    NewJob,
    RedriveJob,
    Stage,
    Tally,
    paced_at,
)
from taskmill.stores.memory.ledger import MemoryLedger


@dataclass(slots=True)
class _Item:
    generation: int
    next_generation: int | None = None
    is_skipped: bool = False
    ended: Status | None = None


@dataclass(slots=True)
class _JobRecord:
    new: NewJob
    job: RedriveJob
    items: dict[TaskId, _Item]
    is_held: bool = False


class MemoryRedriveJobs:
    def __init__(self, ledger: Callable[[], MemoryLedger], clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock
        self._records: dict[str, _JobRecord] = {}

    def make(self, job: NewJob) -> RedriveJob:
        self._ledger().ask()
        for record in self._records.values():
            if record.new.fingerprint == job.fingerprint and record.job.state in LIVING:
                return self._shown(record)
        items = {one.id: _Item(one.generation) for one in self._dead(job)}
        fresh = RedriveJob(
            id=job.id,
            wanted=job.wanted,
            rate_per_second=job.rate_per_second,
            state=JobState.RUNNING if items else JobState.DONE,
            why=None,
            tally=Tally(total=len(items)),
            stage=Stage(),
            paced_at_ms=self._clock(),
            created_at_ms=job.at_ms,
            changed_at_ms=job.at_ms,
        )
        self._records[job.id] = _JobRecord(job, fresh, items)
        return fresh

    def _dead(self, job: NewJob) -> list[Item]:
        request = job.wanted
        page = self._ledger().dead(
            TaskFilter(
                tenant=job.tenant,
                type=request.type,
                status=Status.DEAD,
                metadata={},
                created_after_ms=None,
                created_before_ms=None,
                after=None,
                limit=1_000_000,
                reason=request.reason,
                error_class=request.error_class,
                dead_after_ms=request.dead_after_ms,
                dead_before_ms=request.dead_before_ms,
            )
        )
        letters = list(page.letters)[::-1][: request.limit]
        return [Item(letter.task.id, letter.task.generation) for letter in letters]

    def find(self, job_id: str) -> RedriveJob | None:
        self._ledger().ask()
        record = self._records.get(job_id)
        return self._shown(record) if record else None

    def latest(self, tenant: str, *, limit: int) -> Sequence[RedriveJob]:
        self._ledger().ask()
        jobs = [
            self._shown(record) for record in self._records.values() if record.new.tenant == tenant
        ]
        return sorted(jobs, key=lambda job: (job.created_at_ms, job.id), reverse=True)[:limit]

    def stop(self, job_id: str) -> None:
        self._ledger().ask()
        record = self._records.get(job_id)
        if record and record.job.state in LIVING:
            self._set(record, JobState.STOPPED, None)

    def resume(self, job_id: str) -> None:
        self._ledger().ask()
        record = self._records.get(job_id)
        if record is None or record.job.state not in {JobState.PAUSED, JobState.STOPPED}:
            return
        for other in self._records.values():
            is_same = other.new.fingerprint == record.new.fingerprint and other is not record
            if is_same and other.job.state in LIVING:
                return
        tally = self._shown(record).tally
        stage = Stage(tally.redriven, tally.ended, tally.failed)
        record.job = replace(record.job, stage=stage, paced_at_ms=self._clock())
        self._set(record, JobState.RUNNING, None)

    def running(self) -> Sequence[str]:
        self._ledger().ask()
        names = [
            name for name, record in self._records.items() if record.job.state is JobState.RUNNING
        ]
        return sorted(names)

    @contextmanager
    def held(self, job_id: str) -> Iterator["MemoryHeldJob | None"]:
        self._ledger().ask()
        record = self._records.get(job_id)
        if record is None or record.is_held or record.job.state is not JobState.RUNNING:
            yield None
            return
        record.is_held = True
        job = MemoryHeldJob(self._shown(record), self._clock(), record.items)
        try:
            yield job
        finally:
            record.is_held = False
        self._write(record, job)

    def _write(self, record: _JobRecord, job: "MemoryHeldJob") -> None:
        """Keep what was done while the job was held, or nothing of it after an error."""
        for mark in job.done:
            item = record.items[mark.item.id]
            item.next_generation, item.is_skipped = (
                mark.next_generation,
                mark.next_generation is None,
            )
        record.job = replace(record.job, paced_at_ms=job.paced_at_ms)
        if job.changed is not None:
            self._set(record, *job.changed)

    def _set(self, record: _JobRecord, state: JobState, why: str | None) -> None:
        record.job = replace(record.job, state=state, why=why, changed_at_ms=self._clock())

    def _shown(self, record: _JobRecord) -> RedriveJob:
        for task_id, item in record.items.items():
            if item.ended is None and item.next_generation is not None:
                item.ended = self._end_of(task_id, item.next_generation)
        ends = [item.ended for item in record.items.values()]
        tally = Tally(
            total=len(record.items),
            redriven=sum(item.next_generation is not None for item in record.items.values()),
            skipped=sum(item.is_skipped for item in record.items.values()),
            succeeded=ends.count(Status.SUCCEEDED),
            failed=ends.count(Status.DEAD),
            cancelled=ends.count(Status.CANCELLED),
        )
        return replace(record.job, tally=tally)

    def _end_of(self, task_id: TaskId, generation: int) -> Status | None:
        row = self._ledger().rows.get(task_id)
        if row is None or row.generation < generation:
            return None
        if row.generation > generation:
            return Status.DEAD
        return row.status if row.status.is_final else None


class MemoryHeldJob:
    def __init__(self, job: RedriveJob, now_ms: Millis, items: dict[TaskId, _Item]) -> None:
        self.job = job
        self.now_ms = now_ms
        self.done: list[Done] = []
        self.paced_at_ms = job.paced_at_ms
        self.changed: tuple[JobState, str | None] | None = None
        self._items = items

    def next(self, count: int) -> Sequence[Item]:
        waiting = [
            Item(task_id, item.generation)
            for task_id, item in sorted(self._items.items())
            if item.next_generation is None and not item.is_skipped
        ]
        return waiting[:count]

    def note(self, done: Sequence[Done], *, paced_for: int) -> None:
        self.done += done
        self.paced_at_ms = paced_at(self.job, paced_for, self.now_ms)

    def change(self, state: JobState, why: str | None) -> None:
        self.changed = (state, why)
