"""Creates, shows, stops and resumes redrive jobs."""

from collections.abc import Callable

from functions.gateway.http.answer import Answer, Told, json_body, new_router, tell
from functions.gateway.http.problem import Problem, unavailable
from functions.gateway.redrives import list_jobs, make_job, read_job, resume_job, stop_job
from taskmill.core.errors import StoreUnavailable

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
