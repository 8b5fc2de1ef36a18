"""Ports of orders."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from taskmill.core.task import Millis, TaskId
from taskmill.orders.control import (
    CancelOrder,
    ChangeOrder,
    OrderAnswer,
    RedriveAnswer,
    RedriveOrder,
    SnapshotAnswer,
)
from taskmill.orders.redrive_job import Done, Item, JobState, NewJob, RedriveJob


class Control(Protocol):
    """Orders from outside; each is valid only if its task is still as it was read."""

    def see(self, ids: Sequence[TaskId]) -> Sequence[SnapshotAnswer]: ...

    def cancel(self, orders: Sequence[CancelOrder]) -> Sequence[OrderAnswer]: ...

    def redrive(self, orders: Sequence[RedriveOrder]) -> Sequence[RedriveAnswer]: ...

    def change(self, orders: Sequence[ChangeOrder]) -> Sequence[OrderAnswer]: ...


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
    """Which tasks to redrive, and the progress."""

    def make(self, job: NewJob) -> RedriveJob: ...

    def find(self, job_id: str) -> RedriveJob | None: ...

    def latest(self, tenant: str, *, limit: int) -> Sequence[RedriveJob]: ...

    def stop(self, job_id: str) -> None: ...

    def resume(self, job_id: str) -> None: ...

    def running(self) -> Sequence[str]: ...

    def held(self, job_id: str) -> AbstractContextManager[HeldJob | None]: ...
