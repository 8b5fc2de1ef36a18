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
class _Kept:
    new: NewJob
    job: RedriveJob
    items: dict[TaskId, _Item]
    is_held: bool = False


class MemoryRedriveJobs:
    def __init__(self, ledger: Callable[[], MemoryLedger], clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock
        self._kept: dict[str, _Kept] = {}

    def make(self, job: NewJob) -> RedriveJob:
        self._ledger().ask()
        for kept in self._kept.values():
            if kept.new.fingerprint == job.fingerprint and kept.job.state in LIVING:
                return self._shown(kept)
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
        self._kept[job.id] = _Kept(job, fresh, items)
        return fresh

    def _dead(self, job: NewJob) -> list[Item]:
        wanted = job.wanted
        page = self._ledger().dead(
            TaskFilter(
                tenant=job.tenant,
                type=wanted.type,
                status=Status.DEAD,
                metadata={},
                created_after_ms=None,
                created_before_ms=None,
                after=None,
                limit=1_000_000,
                reason=wanted.reason,
                error_class=wanted.error_class,
                dead_after_ms=wanted.dead_after_ms,
                dead_before_ms=wanted.dead_before_ms,
            )
        )
        letters = list(page.letters)[::-1][: wanted.limit]
        return [Item(letter.task.id, letter.task.generation) for letter in letters]

    def find(self, job_id: str) -> RedriveJob | None:
        self._ledger().ask()
        kept = self._kept.get(job_id)
        return self._shown(kept) if kept else None

    def latest(self, tenant: str, *, limit: int) -> Sequence[RedriveJob]:
        self._ledger().ask()
        jobs = [self._shown(kept) for kept in self._kept.values() if kept.new.tenant == tenant]
        return sorted(jobs, key=lambda job: (job.created_at_ms, job.id), reverse=True)[:limit]

    def stop(self, job_id: str) -> None:
        self._ledger().ask()
        kept = self._kept.get(job_id)
        if kept and kept.job.state in LIVING:
            self._set(kept, JobState.STOPPED, None)

    def resume(self, job_id: str) -> None:
        self._ledger().ask()
        kept = self._kept.get(job_id)
        if kept is None or kept.job.state not in {JobState.PAUSED, JobState.STOPPED}:
            return
        for other in self._kept.values():
            is_same = other.new.fingerprint == kept.new.fingerprint and other is not kept
            if is_same and other.job.state in LIVING:
                return
        tally = self._shown(kept).tally
        stage = Stage(tally.redriven, tally.ended, tally.failed)
        kept.job = replace(kept.job, stage=stage, paced_at_ms=self._clock())
        self._set(kept, JobState.RUNNING, None)

    def running(self) -> Sequence[str]:
        self._ledger().ask()
        names = [name for name, kept in self._kept.items() if kept.job.state is JobState.RUNNING]
        return sorted(names)

    @contextmanager
    def held(self, job_id: str) -> Iterator["MemoryHeldJob | None"]:
        self._ledger().ask()
        kept = self._kept.get(job_id)
        if kept is None or kept.is_held or kept.job.state is not JobState.RUNNING:
            yield None
            return
        kept.is_held = True
        held = MemoryHeldJob(self._shown(kept), self._clock(), kept.items)
        try:
            yield held
        finally:
            kept.is_held = False
        self._write(kept, held)

    def _write(self, kept: _Kept, held: "MemoryHeldJob") -> None:
        """Keep what was done while the job was held, or nothing of it after an error."""
        for done in held.done:
            item = kept.items[done.item.id]
            item.next_generation, item.is_skipped = (
                done.next_generation,
                done.next_generation is None,
            )
        kept.job = replace(kept.job, paced_at_ms=held.paced_at_ms)
        if held.changed is not None:
            self._set(kept, *held.changed)

    def _set(self, kept: _Kept, state: JobState, why: str | None) -> None:
        kept.job = replace(kept.job, state=state, why=why, changed_at_ms=self._clock())

    def _shown(self, kept: _Kept) -> RedriveJob:
        for task_id, item in kept.items.items():
            if item.ended is None and item.next_generation is not None:
                item.ended = self._end_of(task_id, item.next_generation)
        ends = [item.ended for item in kept.items.values()]
        tally = Tally(
            total=len(kept.items),
            redriven=sum(item.next_generation is not None for item in kept.items.values()),
            skipped=sum(item.is_skipped for item in kept.items.values()),
            succeeded=ends.count(Status.SUCCEEDED),
            failed=ends.count(Status.DEAD),
            cancelled=ends.count(Status.CANCELLED),
        )
        return replace(kept.job, tally=tally)

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
