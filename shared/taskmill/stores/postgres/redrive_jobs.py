"""Redrive jobs, in PostgreSQL: created by people, run by a scheduler."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import msgspec
import psycopg

from taskmill.core.task import Millis, TaskId
from taskmill.orders.redrive_job import (
    LIVING,
    Done,
    Item,
    JobState,
    NewJob,
    RedriveJob,
    RedriveJobRequest,
    Stage,
    Tally,
    paced_at,
)
from taskmill.stores.postgres import queries
from taskmill.stores.postgres.connection import Database

_LONGEST_STEP = timedelta(seconds=20)
_ANY: dict[str, Any] = {"id": None, "tenant": None, "fingerprint": None, "limit": 1}


class PostgresRedriveJobs:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._make = queries.load("orders/make_redrive_job")
        self._snapshot = queries.load("orders/snapshot_redrive_items")
        self._read = queries.load("orders/read_redrive_jobs")
        self._running = queries.load("orders/name_running_redrive_jobs")
        self._hold = queries.load("orders/hold_redrive_job")
        self._note_ended = queries.load("orders/note_ended_items")
        self._change = queries.load("orders/change_redrive_job")
        self._resume = queries.load("orders/resume_redrive_job")

    def make(self, job: NewJob) -> RedriveJob:
        """Return the new job, or the active one for an identical request."""
        return self._database.run(lambda connection: self._make_or_find(connection, job))

    def _make_or_find(self, connection: psycopg.Connection[Any], job: NewJob) -> RedriveJob:
        parameters = {
            "id": job.id,
            "tenant": job.tenant,
            "fingerprint": job.fingerprint,
            "wanted": msgspec.json.encode(job.wanted).decode(),
            "rate_per_second": job.rate_per_second,
            "at_ms": job.at_ms,
        }
        if connection.execute(self._make, parameters).fetchall():
            criteria = msgspec.structs.asdict(job.wanted)
            connection.execute(self._snapshot, parameters | criteria)
            key = _ANY | {"id": job.id}
        else:
            key = _ANY | {"fingerprint": job.fingerprint}
        return _job(connection.execute(self._read, key).fetchall()[0])

    def find(self, job_id: str) -> RedriveJob | None:
        self._look_again(job_id)
        rows = self._database.fetch(self._read, _ANY | {"id": job_id})
        return _job(rows[0]) if rows else None

    def latest(self, tenant: str, *, limit: int) -> Sequence[RedriveJob]:
        parameters = _ANY | {"tenant": tenant, "limit": limit}
        return [_job(row) for row in self._database.fetch(self._read, parameters)]

    def stop(self, job_id: str) -> None:
        parameters = {"id": job_id, "state": JobState.STOPPED, "why": None, "known": list(LIVING)}
        self._database.run(lambda connection: connection.execute(self._change, parameters))

    def resume(self, job_id: str) -> None:
        self._look_again(job_id)
        self._database.run(lambda connection: connection.execute(self._resume, {"id": job_id}))

    def _look_again(self, job_id: str) -> None:
        """Count the tasks that ended while nobody worked on the job."""
        self._database.run(lambda connection: connection.execute(self._note_ended, {"id": job_id}))

    def running(self) -> Sequence[str]:
        return [row["id"] for row in self._database.fetch(self._running, {})]

    @contextmanager
    def held(self, job_id: str) -> Iterator["PostgresHeldJob | None"]:
        with self._database.transaction(within=_LONGEST_STEP) as connection:
            if not connection.execute(self._hold, {"id": job_id}).fetchall():
                yield None
                return
            connection.execute(self._note_ended, {"id": job_id})
            (row,) = connection.execute(self._read, _ANY | {"id": job_id}).fetchall()
            yield PostgresHeldJob(connection, _job(row), row["now_ms"])


class PostgresHeldJob:
    """A job that nobody else works on during the transaction."""

    def __init__(
        self, connection: psycopg.Connection[Any], job: RedriveJob, now_ms: Millis
    ) -> None:
        self.job = job
        self.now_ms = now_ms
        self._connection = connection

    def next(self, count: int) -> Sequence[Item]:
        parameters = {"id": self.job.id, "count": count}
        rows = self._connection.execute(
            queries.load("orders/next_redrive_items"), parameters
        ).fetchall()
        return [Item(TaskId(row["task_id"]), row["generation"]) for row in rows]

    def note(self, done: Sequence[Done], *, paced_for: int) -> None:
        items = [{"task_id": one.item.id, "next_generation": one.next_generation} for one in done]
        self._connection.execute(
            queries.load("orders/mark_redrive_items"),
            {"id": self.job.id, "done": msgspec.json.encode(items).decode()},
        )
        self._connection.execute(
            queries.load("orders/pace_redrive_job"),
            {"id": self.job.id, "paced_at_ms": paced_at(self.job, paced_for, self.now_ms)},
        )

    def change(self, state: JobState, why: str | None) -> None:
        parameters = {"id": self.job.id, "state": state, "why": why, "known": [JobState.RUNNING]}
        self._connection.execute(queries.load("orders/change_redrive_job"), parameters)


def _job(row: Mapping[str, Any]) -> RedriveJob:
    return RedriveJob(
        id=row["id"],
        wanted=msgspec.json.decode(row["wanted"], type=RedriveJobRequest),
        rate_per_second=row["rate_per_second"],
        state=JobState(row["state"]),
        why=row["why"],
        tally=Tally(
            total=row["total"],
            redriven=row["redriven"],
            skipped=row["skipped"],
            succeeded=row["succeeded"],
            failed=row["failed"],
            cancelled=row["cancelled"],
        ),
        stage=Stage(row["redriven_before"], row["ended_before"], row["failed_before"]),
        paced_at_ms=row["paced_at_ms"],
        created_at_ms=row["created_at_ms"],
        changed_at_ms=row["changed_at_ms"],
    )
