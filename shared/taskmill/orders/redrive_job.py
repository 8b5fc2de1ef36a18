"""Redrive jobs: which tasks to redrive, how fast, and when to pause."""

from datetime import timedelta
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct

from taskmill.core.task import Millis, TaskId, TaskType
from taskmill.core.time import in_ms

CANARY = 10
"""The canary: this many tasks go first and must end; more than a third of failures among the ended
ones pauses the job, then and later."""

MOST_AT_ONCE = 200
LONGEST_BURST = timedelta(seconds=1)
"""Time in which nobody worked on a job is not made up for at once."""


class JobState(StrEnum):
    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"
    DONE = "done"


LIVING = frozenset({JobState.RUNNING, JobState.PAUSED})


class RedriveJobRequest(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which dead tasks, and how many at most: those that died first."""

    type: TaskType | None = None
    reason: str | None = None
    error_class: str | None = None
    dead_after_ms: Millis | None = None
    dead_before_ms: Millis | None = None
    limit: int


class Tally(Struct, frozen=True, kw_only=True):
    """The results of a job's tasks so far."""

    total: int
    redriven: int = 0
    skipped: int = 0
    succeeded: int = 0
    failed: int = 0
    cancelled: int = 0

    @property
    def left(self) -> int:
        return self.total - self.redriven - self.skipped

    @property
    def ended(self) -> int:
        return self.succeeded + self.failed + self.cancelled


class Stage(Struct, frozen=True):
    """The tally when a job was started or resumed: the canary counts from there."""

    redriven: int = 0
    ended: int = 0
    failed: int = 0


class NewJob(Struct, frozen=True, kw_only=True):
    id: str
    tenant: str
    fingerprint: str
    """An identical request while its job is active returns that job."""
    wanted: RedriveJobRequest
    rate_per_second: float
    at_ms: Millis


class RedriveJob(Struct, frozen=True, kw_only=True):
    id: str
    wanted: RedriveJobRequest
    rate_per_second: float
    state: JobState
    why: str | None
    tally: Tally
    stage: Stage
    paced_at_ms: Millis
    created_at_ms: Millis
    changed_at_ms: Millis


class Item(Struct, frozen=True):
    """A task that was dead in that generation when the job was created."""

    id: TaskId
    generation: int


class Done(Struct, frozen=True):
    """A processed item; without a next generation there was nothing to redrive."""

    item: Item
    next_generation: int | None


class Go(Struct, frozen=True):
    count: int


class Wait(Struct, frozen=True):
    """Wait for the pace, or for the canary to end."""


class Pause(Struct, frozen=True):
    why: str


class Finish(Struct, frozen=True):
    """All tasks are redriven and have ended."""


Step: TypeAlias = Go | Wait | Pause | Finish


def next_step(job: RedriveJob, now_ms: Millis) -> Step:
    tally = job.tally
    if tally.left == 0:
        return Finish() if tally.ended == tally.redriven else Wait()
    redriven = tally.redriven - job.stage.redriven
    ended, failed = tally.ended - job.stage.ended, tally.failed - job.stage.failed
    if ended >= CANARY and failed * 3 > ended:
        return Pause(
            f"{failed} of the {ended} tasks that ended failed again: check them, then resume or"
            " stop the job"
        )
    if ended < CANARY:
        room = CANARY - redriven
        if room <= 0:
            return Wait()
    else:
        room = MOST_AT_ONCE
    count = min(_allowed(job, now_ms), room, tally.left)
    return Go(count) if count > 0 else Wait()


def _allowed(job: RedriveJob, now_ms: Millis) -> int:
    since_ms = max(job.paced_at_ms, now_ms - _burst_ms(job))
    return int((now_ms - since_ms) * job.rate_per_second / 1000)


def paced_at(job: RedriveJob, count: int, now_ms: Millis) -> Millis:
    """Return the start of the pace after *count* more tasks have gone."""
    since_ms = max(job.paced_at_ms, now_ms - _burst_ms(job))
    return Millis(since_ms + round(count * 1000 / job.rate_per_second))


def _burst_ms(job: RedriveJob) -> int:
    return max(in_ms(LONGEST_BURST), round(1000 / job.rate_per_second) + 1)
