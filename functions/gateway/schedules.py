"""Schedules over HTTP: each route reads its request and makes one call."""

from collections.abc import Callable

from functions.gateway.firing import backfill_schedule, preview_schedule, trigger_schedule
from functions.gateway.http.answer import Answer, Told, json_body, new_router, tell
from functions.gateway.http.auth import caller
from functions.gateway.http.problem import Problem, unavailable, unprocessable
from functions.gateway.schedule_edits import (
    delete_schedule,
    list_schedules,
    make_schedule,
    pause_schedule,
    put_schedule,
    read_schedule,
    resume_schedule,
)
from functions.gateway.stores import stores
from taskmill.core.errors import ScheduleBroken, StoreUnavailable

router = new_router()


@router.post("/v1/schedules")
def post_schedules() -> Answer:
    return _with_body(lambda body: make_schedule(body, by=_caller()))


@router.get("/v1/schedules")
def get_schedules() -> Answer:
    return _told(lambda: list_schedules(router.current_event.query_string_parameters))


@router.get("/v1/schedules/<name>")
def get_schedule(name: str) -> Answer:
    return _told(lambda: read_schedule(name))


@router.put("/v1/schedules/<name>")
def put_one(name: str) -> Answer:
    return _with_body(lambda body: put_schedule(name, body, by=_caller()))


@router.delete("/v1/schedules/<name>")
def delete_one(name: str) -> Answer:
    return _told(lambda: delete_schedule(name))


@router.post("/v1/schedules/<name>/pause")
def post_pause(name: str) -> Answer:
    return _told(lambda: pause_schedule(name, by=_caller()))


@router.post("/v1/schedules/<name>/resume")
def post_resume(name: str) -> Answer:
    return _told(lambda: resume_schedule(name))


@router.post("/v1/schedules/<name>/trigger")
def post_trigger(name: str) -> Answer:
    return _told(lambda: trigger_schedule(name))


@router.post("/v1/schedules/<name>/backfill")
def post_backfill(name: str) -> Answer:
    return _with_body(lambda body: backfill_schedule(name, body))


@router.get("/v1/schedules/<name>/next")
def get_next(name: str) -> Answer:
    return _told(lambda: preview_schedule(name, router.current_event.query_string_parameters))


def _caller() -> str:
    return caller(router.current_event, stores().api_keys)


def _with_body(call: Callable[[bytes], Told | Problem]) -> Answer:
    body = json_body(router.current_event)
    return tell(body) if isinstance(body, Problem) else _told(lambda: call(body))


def _told(call: Callable[[], Told | Problem]) -> Answer:
    try:
        return tell(call())
    except ScheduleBroken as error:
        return tell(unprocessable("invalid_schedule", str(error)))
    except StoreUnavailable as error:
        return tell(unavailable(f"schedules are in the ledger: {error.store} is away", 2))
