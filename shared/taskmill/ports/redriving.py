"""The jobs that bring many back."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from taskmill.domain.redriving import Done, Item, JobState, NewJob, RedriveJob
from taskmill.domain.task import Millis


class HeldJob(Protocol):
    """A running redrive job that nobody else works on while it is held."""

    @property
    def job(self) -> RedriveJob: ...

    @property
    def now_ms(self) -> Millis: ...

    def next(self, count: int) -> Sequence[Item]: ...

    def note(self, done: Sequence[Done], *, paced_for: int) -> None: ...

    def change(self, state: JobState, why: str | None) -> None: ...


class RedriveJobs(Protocol):
    """Who is to be brought back, and how far that is."""

    def make(self, job: NewJob) -> RedriveJob: ...

    def find(self, job_id: str) -> RedriveJob | None: ...

    def latest(self, tenant: str, *, limit: int) -> Sequence[RedriveJob]: ...

    def stop(self, job_id: str) -> None: ...

    def resume(self, job_id: str) -> None: ...

    def running(self) -> Sequence[str]: ...

    def held(self, job_id: str) -> AbstractContextManager[HeldJob | None]: ...
