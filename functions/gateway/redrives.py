"""Redrive jobs over HTTP: create, show, stop and resume."""

from http import HTTPStatus
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from functions.gateway.http.body import read_as
from functions.gateway.http.parameters import read_limit, read_moment
from functions.gateway.http.problem import Problem, conflict, missing, unprocessable
from functions.gateway.http.routes import ApiRequest, Routes, Success
from functions.gateway.presenter import moment
from functions.gateway.reading import id_of
from taskmill.core.task import DEFAULT_TENANT, TaskType, fingerprint, unkeyed_id
from taskmill.orders.redrive_job import JobState, NewJob, RedriveJob, RedriveJobRequest
from taskmill.platform import process

routes = Routes("redrive jobs are in the ledger")

MOST_TASKS = 100_000
_Word = Annotated[str, Meta(min_length=1, max_length=255)]
_Moment = Annotated[
    str, Meta(min_length=1, max_length=255, extra_json_schema={"format": "date-time"})
]


class RedriveRequest(Struct, forbid_unknown_fields=True, kw_only=True):
    """Which dead tasks to redrive, and how fast."""

    type: _Word | None = None
    reason: _Word | None = None
    error_class: _Word | None = None
    dead_after: _Moment | None = None
    dead_before: _Moment | None = None
    rate_per_second: Annotated[float, Meta(ge=0.1, le=1_000)] = 10.0
    limit: Annotated[int, Meta(ge=1, le=MOST_TASKS)] = MOST_TASKS


@routes.post("/v1/redrives", takes_json=True)
def make_job(request: ApiRequest) -> Success | Problem:
    body = read_as(RedriveRequest, request.body)
    if isinstance(body, Problem):
        return body
    selection = _selection(body)
    if isinstance(selection, Problem):
        return selection
    now = request.stores.clock()
    job = NewJob(
        id=unkeyed_id(now, process.entropy()),
        tenant=DEFAULT_TENANT,
        fingerprint=fingerprint(msgspec.structs.asdict(body)),
        wanted=selection,
        rate_per_second=body.rate_per_second,
        at_ms=now,
    )
    return _accepted(request.stores.redrive_jobs.make(job))


@routes.get("/v1/redrives", parameters={"limit"})
def list_jobs(request: ApiRequest) -> Success | Problem:
    limit = read_limit(request.query.get("limit"))
    if isinstance(limit, Problem):
        return limit
    jobs = request.stores.redrive_jobs.latest(DEFAULT_TENANT, limit=limit)
    return Success(HTTPStatus.OK, {"redrives": [_view(job) for job in jobs]})


@routes.get("/v1/redrives/<name>")
def read_job(request: ApiRequest, name: str) -> Success | Problem:
    job = _find(request, name)
    return job if isinstance(job, Problem) else Success(HTTPStatus.OK, _view(job))


@routes.post("/v1/redrives/<name>/stop")
def stop_job(request: ApiRequest, name: str) -> Success | Problem:
    job = _find(request, name)
    if isinstance(job, Problem):
        return job
    if job.state is JobState.DONE:
        return conflict("already_finished", "the job is finished")
    request.stores.redrive_jobs.stop(job.id)
    return read_job(request, name)


@routes.post("/v1/redrives/<name>/resume")
def resume_job(request: ApiRequest, name: str) -> Success | Problem:
    job = _find(request, name)
    if isinstance(job, Problem):
        return job
    if job.state is JobState.DONE:
        return conflict("already_finished", "the job is finished")
    request.stores.redrive_jobs.resume(job.id)
    job = _find(request, name)
    if not isinstance(job, Problem) and job.state is not JobState.RUNNING:
        return conflict("another_job_lives", "an unfinished job has the same request")
    return job if isinstance(job, Problem) else _accepted(job)


def _find(request: ApiRequest, name: str) -> RedriveJob | Problem:
    job_id = id_of(name)
    job = None if isinstance(job_id, Problem) else request.stores.redrive_jobs.find(job_id)
    return missing(f"there is no redrive job {name}") if job is None else job


def _selection(request: RedriveRequest) -> RedriveJobRequest | Problem:
    after = read_moment("dead_after", request.dead_after)
    before = read_moment("dead_before", request.dead_before)
    for name, at_ms in (("dead_after", after), ("dead_before", before)):
        if isinstance(at_ms, Problem):
            return unprocessable(at_ms.type, at_ms.detail, f"/{name}")
    return RedriveJobRequest(
        type=None if request.type is None else TaskType(request.type),
        reason=request.reason,
        error_class=request.error_class,
        dead_after_ms=None if isinstance(after, Problem) else after,
        dead_before_ms=None if isinstance(before, Problem) else before,
        limit=request.limit,
    )


def _accepted(job: RedriveJob) -> Success:
    return Success(HTTPStatus.ACCEPTED, _view(job), f"/v1/redrives/{job.id}")


def _view(job: RedriveJob) -> dict[str, Any]:
    selection, tally = job.wanted, job.tally
    filters = {
        "type": selection.type,
        "reason": selection.reason,
        "error_class": selection.error_class,
        "dead_after": None if selection.dead_after_ms is None else moment(selection.dead_after_ms),
        "dead_before": None
        if selection.dead_before_ms is None
        else moment(selection.dead_before_ms),
    }
    return {
        "id": job.id,
        "state": job.state,
        **({"why": job.why} if job.why else {}),
        **{name: value for name, value in filters.items() if value is not None},
        "rate_per_second": job.rate_per_second,
        "limit": selection.limit,
        "total": tally.total,
        "left": tally.left,
        "redriven": tally.redriven,
        "skipped": tally.skipped,
        "succeeded": tally.succeeded,
        "failed": tally.failed,
        "cancelled": tally.cancelled,
        "created_at": moment(job.created_at_ms),
        "changed_at": moment(job.changed_at_ms),
    }
