"""Redrive jobs over HTTP: made, shown, stopped and resumed."""

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from functions.gateway.http.answer import Answer, Told, json_body, new_router, tell
from functions.gateway.http.problem import (
    Problem,
    bad_request,
    conflict,
    missing,
    unavailable,
    unknown_parameter,
    unprocessable,
)
from functions.gateway.listing import read_limit, read_moment
from functions.gateway.presenter import moment
from functions.gateway.reading import id_of
from functions.gateway.stores import stores
from taskmill.core.errors import StoreUnavailable
from taskmill.core.task import DEFAULT_TENANT, TaskType, fingerprint, unkeyed_id
from taskmill.orders.redrive_job import JobState, NewJob, RedriveJob, Wanted
from taskmill.platform import process
from taskmill.submission import strict_json

router = new_router()


@router.post("/v1/redrives")
def post_redrives() -> Answer:
    body = json_body(router.current_event)
    return tell(body) if isinstance(body, Problem) else _told(lambda: make_job(body))


@router.get("/v1/redrives")
def get_redrives() -> Answer:
    return _told(lambda: list_jobs(router.current_event.query_string_parameters))


@router.get("/v1/redrives/<name>")
def get_redrive(name: str) -> Answer:
    return _told(lambda: read_job(name))


@router.post("/v1/redrives/<name>/stop")
def post_stop(name: str) -> Answer:
    return _told(lambda: stop_job(name))


@router.post("/v1/redrives/<name>/resume")
def post_resume(name: str) -> Answer:
    return _told(lambda: resume_job(name))


def _told(call: Callable[[], Told | Problem]) -> Answer:
    try:
        return tell(call())
    except StoreUnavailable as error:
        return tell(unavailable(f"redrive jobs are in the ledger: {error.store} is away", 2))


MOST_TASKS = 100_000
_Word = Annotated[str, Meta(min_length=1, max_length=255)]
_Moment = Annotated[
    str, Meta(min_length=1, max_length=255, extra_json_schema={"format": "date-time"})
]


class RedriveRequest(Struct, forbid_unknown_fields=True, kw_only=True):
    """Which of the dead are to be brought back, and how fast."""

    type: _Word | None = None
    reason: _Word | None = None
    error_class: _Word | None = None
    dead_after: _Moment | None = None
    dead_before: _Moment | None = None
    rate_per_second: Annotated[float, Meta(ge=0.1, le=1_000)] = 10.0
    limit: Annotated[int, Meta(ge=1, le=MOST_TASKS)] = MOST_TASKS


def make_job(body: bytes) -> Told | Problem:
    try:
        given = strict_json.read(body)
        request = msgspec.convert(given, RedriveRequest)
    except strict_json.NotJson as error:
        return bad_request(str(error))
    except msgspec.ValidationError as error:
        return _misfit(str(error))
    wanted = _wanted(request)
    if isinstance(wanted, Problem):
        return wanted
    now = process.clock()
    job = NewJob(
        id=unkeyed_id(now, process.entropy()),
        tenant=DEFAULT_TENANT,
        fingerprint=fingerprint(msgspec.structs.asdict(request)),
        wanted=wanted,
        rate_per_second=request.rate_per_second,
        at_ms=now,
    )
    return _accepted(stores().redrive_jobs.make(job))


def list_jobs(given: Mapping[str, str]) -> Told | Problem:
    unknown = unknown_parameter(given, {"limit"})
    if unknown is not None:
        return unknown
    limit = read_limit(given.get("limit"))
    if isinstance(limit, Problem):
        return limit
    jobs = stores().redrive_jobs.latest(DEFAULT_TENANT, limit=limit)
    return Told(HTTPStatus.OK, {"redrives": [_shown(job) for job in jobs]})


def read_job(name: str) -> Told | Problem:
    job = _find(name)
    return job if isinstance(job, Problem) else Told(HTTPStatus.OK, _shown(job))


def stop_job(name: str) -> Told | Problem:
    job = _find(name)
    if isinstance(job, Problem):
        return job
    if job.state is JobState.DONE:
        return conflict("already_finished", "the job is finished")
    stores().redrive_jobs.stop(job.id)
    return read_job(name)


def resume_job(name: str) -> Told | Problem:
    job = _find(name)
    if isinstance(job, Problem):
        return job
    if job.state is JobState.DONE:
        return conflict("already_finished", "the job is finished")
    stores().redrive_jobs.resume(job.id)
    job = _find(name)
    if not isinstance(job, Problem) and job.state is not JobState.RUNNING:
        return conflict("another_job_lives", "an unfinished job has the same request")
    return job if isinstance(job, Problem) else _accepted(job)


def _find(name: str) -> RedriveJob | Problem:
    job_id = id_of(name)
    job = None if isinstance(job_id, Problem) else stores().redrive_jobs.find(job_id)
    return missing(f"there is no redrive job {name}") if job is None else job


def _wanted(request: RedriveRequest) -> Wanted | Problem:
    after = read_moment("dead_after", request.dead_after)
    before = read_moment("dead_before", request.dead_before)
    for name, at_ms in (("dead_after", after), ("dead_before", before)):
        if isinstance(at_ms, Problem):
            return unprocessable(at_ms.type, at_ms.detail, f"/{name}")
    return Wanted(
        type=None if request.type is None else TaskType(request.type),
        reason=request.reason,
        error_class=request.error_class,
        dead_after_ms=None if isinstance(after, Problem) else after,
        dead_before_ms=None if isinstance(before, Problem) else before,
        limit=request.limit,
    )


def _misfit(text: str) -> Problem:
    what, _, where = text.partition(" - at `$")
    pointer = where.rstrip("`").replace(".", "/")
    return unprocessable("invalid_request", what, pointer or None)


def _accepted(job: RedriveJob) -> Told:
    return Told(HTTPStatus.ACCEPTED, _shown(job), f"/v1/redrives/{job.id}")


def _shown(job: RedriveJob) -> dict[str, Any]:
    wanted, tally = job.wanted, job.tally
    asked = {
        "type": wanted.type,
        "reason": wanted.reason,
        "error_class": wanted.error_class,
        "dead_after": None if wanted.dead_after_ms is None else moment(wanted.dead_after_ms),
        "dead_before": None if wanted.dead_before_ms is None else moment(wanted.dead_before_ms),
    }
    return {
        "id": job.id,
        "state": job.state,
        **({"why": job.why} if job.why else {}),
        **{name: value for name, value in asked.items() if value is not None},
        "rate_per_second": job.rate_per_second,
        "limit": wanted.limit,
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
