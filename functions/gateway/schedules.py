"""Creates, shows, edits, pauses, resumes and deletes schedules."""

from http import HTTPStatus
from typing import Any, assert_never

import msgspec
from msgspec import Raw

from functions.gateway.http.auth import caller
from functions.gateway.http.paging import Line, Mark, mark_of, page_of
from functions.gateway.http.parameters import read_limit
from functions.gateway.http.problem import (
    Problem,
    conflict,
    missing,
    problem_of,
    unavailable,
    unprocessable,
)
from functions.gateway.http.routes import Answer, ApiRequest, Routes, Success, respond
from functions.gateway.presenter import moment
from taskmill.core.errors import ScheduleBroken
from taskmill.core.refusal import Refusal
from taskmill.core.task import DEFAULT_TENANT, Millis
from taskmill.schedules.manage import (
    Contended,
    KeptSchedule,
    NoSchedule,
    OfAFolder,
    ScheduleChanged,
    Taken,
    delete,
    make,
    pause,
    put,
    resume,
)
from taskmill.schedules.read import read_new, read_replacement
from taskmill.schedules.request import NAME
from taskmill.schedules.schedule import Definition, Schedule
from taskmill.submission.read import read_value

KEPT = "schedules are in the ledger"
routes = Routes(KEPT)
_NO_TIME = Millis(0)


@routes.router.exception_handler(ScheduleBroken)  # type: ignore[untyped-decorator]  # powertools has no annotation here
def _broken(error: ScheduleBroken) -> Answer:
    return respond(unprocessable("invalid_schedule", str(error)))


@routes.post("/v1/schedules", takes_json=True)
def make_schedule(request: ApiRequest) -> Success | Problem:
    value, stores = read_value(request.body), request.stores
    if isinstance(value, Refusal):
        return problem_of(value)
    schedule = read_new(value, stores.catalogue, now=stores.clock())
    if isinstance(schedule, Refusal):
        return problem_of(schedule)
    outcome = make(schedule, stores.schedules, tenant=DEFAULT_TENANT, by=caller(request))
    return _answer(schedule.name, outcome)


@routes.put("/v1/schedules/<name>")
def put_schedule(request: ApiRequest, name: str) -> Success | Problem:
    value, stores = read_value(request.body), request.stores
    if isinstance(value, Refusal):
        return problem_of(value)
    if NAME.fullmatch(name) is None:
        return no_schedule(name)
    schedule = read_replacement(name, value, stores.catalogue, now=stores.clock())
    if isinstance(schedule, Refusal):
        return problem_of(schedule)
    by = caller(request)
    return _answer(name, put(schedule, stores.schedules, tenant=DEFAULT_TENANT, by=by))


@routes.get("/v1/schedules", parameters={"limit", "cursor"})
def list_schedules(request: ApiRequest) -> Success | Problem:
    query = request.query
    limit = read_limit(query.get("limit"))
    if isinstance(limit, Problem):
        return limit
    mark = mark_of(query["cursor"], query) if "cursor" in query else Mark(_NO_TIME, "")
    if isinstance(mark, Problem):
        return mark
    schedules = request.stores.schedules.page(DEFAULT_TENANT, after=mark.name, limit=limit + 1)
    lines = [Line(_listed(one), Mark(_NO_TIME, one.name)) for one in schedules[:limit]]
    rest = lines[-1].mark if len(schedules) > limit else None
    views, cursor = page_of(lines, rest=rest, query=query)
    return Success(HTTPStatus.OK, {"schedules": views, "next_cursor": cursor})


@routes.get("/v1/schedules/<name>")
def read_schedule(request: ApiRequest, name: str) -> Success | Problem:
    schedule = find(request, name)
    return (
        no_schedule(name)
        if schedule is None
        else Success(HTTPStatus.OK, schedule_as_json(schedule))
    )


@routes.delete("/v1/schedules/<name>")
def delete_schedule(request: ApiRequest, name: str) -> Success | Problem:
    return _answer(name, delete(name, request.stores.schedules, tenant=DEFAULT_TENANT))


@routes.post("/v1/schedules/<name>/pause")
def pause_schedule(request: ApiRequest, name: str) -> Success | Problem:
    by = caller(request)
    return _answer(name, pause(name, request.stores.schedules, tenant=DEFAULT_TENANT, by=by))


@routes.post("/v1/schedules/<name>/resume")
def resume_schedule(request: ApiRequest, name: str) -> Success | Problem:
    return _answer(name, resume(name, request.stores.schedules, tenant=DEFAULT_TENANT))


def find(request: ApiRequest, name: str) -> Schedule | None:
    is_possible = NAME.fullmatch(name) is not None
    return request.stores.schedules.find(DEFAULT_TENANT, name) if is_possible else None


def no_schedule(name: str) -> Problem:
    return missing(f"there is no schedule {name}")


def contended() -> Problem:
    return unavailable("the schedule kept changing during the request; try again", 1)


def _answer(
    name: str, outcome: KeptSchedule | Taken | ScheduleChanged | NoSchedule | OfAFolder | Contended
) -> Success | Problem:
    match outcome:
        case KeptSchedule(schedule, is_new=True):
            return Success(HTTPStatus.CREATED, schedule_as_json(schedule), f"/v1/schedules/{name}")
        case KeptSchedule(schedule):
            return Success(HTTPStatus.OK, schedule_as_json(schedule))
        case Taken(schedule):
            detail = f"another schedule {name} exists, with revision {schedule.revision}"
            return conflict("already_exists", detail)
        case ScheduleChanged(schedule):
            return conflict(
                "changed_meanwhile", f"the schedule now has revision {schedule.revision}"
            )
        case NoSchedule():
            return no_schedule(name)
        case OfAFolder():
            detail = f"the schedule {name} is declared in the folder of its type: change it there"
            return conflict("managed_schedule", detail)
        case Contended():
            return contended()
        case _:
            assert_never(outcome)


def _listed(schedule: Schedule) -> dict[str, Any]:
    """Return a schedule as lists show it: without its payload."""
    task = msgspec.json.decode(schedule.definition.task, type=dict[str, Raw])
    task.pop("payload", None)
    return schedule_as_json(schedule) | {"task": task}


def schedule_as_json(schedule: Schedule) -> dict[str, Any]:
    view = {
        "name": schedule.name,
        **_times(schedule.definition),
        "enabled": schedule.paused is None,
        "managed": schedule.is_managed,
        "revision": schedule.revision,
        "fired": schedule.tally.fired,
        "skipped": schedule.tally.skipped,
        "missed": schedule.tally.missed,
        "backfilled": schedule.tally.backfilled,
        "created_at": moment(schedule.created_at_ms),
        "changed_at": moment(schedule.changed_at_ms),
    }
    if schedule.next_at_ms is not None:
        view["next_at"] = moment(schedule.next_at_ms)
    if schedule.held:
        view["waits"] = True
    if schedule.paused is not None:
        view["paused_at"] = moment(schedule.paused.at_ms)
        view["paused_by"] = schedule.paused.by
    if schedule.last is not None:
        view["last_at"] = moment(schedule.last.nominal_ms)
        view["last_fired_at"] = moment(schedule.last.at_ms)
        view["last_task_id"] = schedule.last.task_id
    if schedule.refused is not None:
        view["last_refusal"] = {"type": schedule.refused.code, "detail": schedule.refused.detail}
    return view


def _times(definition: Definition) -> dict[str, Any]:
    fields = msgspec.structs.asdict(definition)
    return {name: value for name, value in fields.items() if value is not None}
