"""Fires a schedule on request and lists its next times."""

from http import HTTPStatus
from typing import Annotated, Any, assert_never

from msgspec import Meta, Struct

from functions.gateway.http.body import read_as
from functions.gateway.http.parameters import read_moment, read_number
from functions.gateway.http.problem import Problem, unprocessable
from functions.gateway.http.routes import ApiRequest, Routes, Success
from functions.gateway.presenter import moment
from functions.gateway.schedules import KEPT, contended, find, no_schedule
from taskmill.core.task import DEFAULT_TENANT, Millis
from taskmill.schedules.clock_changes import Coming
from taskmill.schedules.fire_step import calendar_of, millis_of, moment_of
from taskmill.schedules.manage import (
    MOST_BACKFILLED,
    BackfillTooLarge,
    Contended,
    Fired,
    NoSchedule,
    TooMany,
    backfill,
    trigger,
)
from taskmill.schedules.schedule import OCTETS_AT_A_TIME

routes = Routes(KEPT)

routes = Routes(KEPT)

USUAL_COUNT = 10
LARGEST_COUNT = 100
_Moment = Annotated[
    str, Meta(min_length=1, max_length=255, extra_json_schema={"format": "date-time"})
]


class BackfillRequest(Struct, forbid_unknown_fields=True, kw_only=True, rename={"since": "from"}):
    """The first and last moment of the range; later instants fire when they are due."""

    since: _Moment
    until: _Moment


@routes.post("/v1/schedules/<name>/trigger")
def trigger_schedule(request: ApiRequest, name: str) -> Success | Problem:
    outcome = trigger(name, request.stores.schedules, tenant=DEFAULT_TENANT)
    match outcome:
        case Fired(fires):
            (fire,) = _fires(outcome)
            location = f"/v1/tasks/{fires[0].request.task_id}"
            return Success(HTTPStatus.ACCEPTED, fire, location)
        case NoSchedule():
            return no_schedule(name)
        case Contended():
            return contended()
        case _:
            assert_never(outcome)


@routes.post("/v1/schedules/<name>/backfill", takes_json=True)
def backfill_schedule(request: ApiRequest, name: str) -> Success | Problem:
    span = _range(request.body)
    if isinstance(span, Problem):
        return span
    outcome = backfill(name, *span, request.stores.schedules, tenant=DEFAULT_TENANT)
    match outcome:
        case Fired():
            return Success(HTTPStatus.ACCEPTED, {"fires": _fires(outcome)})
        case TooMany(count):
            detail = (
                f"{count:,} instants lie in the range; one request fires {MOST_BACKFILLED:,}:"
                " split the range"
            )
            return unprocessable("invalid_request", detail, "/until")
        case BackfillTooLarge(count, most):
            detail = (
                f"{count:,} instants lie in the range, and with a task this large one request fires"
                f" {most:,} of them: {OCTETS_AT_A_TIME:,} bytes together; split the range"
                " parts"
            )
            return unprocessable("invalid_request", detail, "/until")
        case NoSchedule():
            return no_schedule(name)
        case Contended():
            return contended()
        case _:
            assert_never(outcome)


@routes.get("/v1/schedules/<name>/next", parameters={"count"})
def preview_schedule(request: ApiRequest, name: str) -> Success | Problem:
    text = request.query.get("count", str(USUAL_COUNT))
    count = read_number("count", text, most=LARGEST_COUNT)
    if isinstance(count, Problem):
        return count
    schedule = find(request, name)
    if schedule is None:
        return no_schedule(name)
    since = moment_of(request.stores.schedules.now())
    coming = calendar_of(schedule.definition).preview(since, count)
    return Success(HTTPStatus.OK, {"next": [_coming(one) for one in coming]})


def _range(body: bytes) -> tuple[Millis, Millis] | Problem:
    request = read_as(BackfillRequest, body)
    if isinstance(request, Problem):
        return request
    since, until = _moment("from", request.since), _moment("until", request.until)
    if isinstance(since, Problem):
        return since
    if isinstance(until, Problem):
        return until
    return since, until


def _moment(name: str, text: str) -> Millis | Problem:
    at_ms = read_moment(name, text)
    if isinstance(at_ms, Problem):
        return unprocessable("invalid_request", at_ms.detail, f"/{name}")
    return Millis(max(at_ms or 0, 0))


def _fires(outcome: Fired) -> list[dict[str, Any]]:
    return [{"at": moment(one.nominal_ms), "task_id": one.request.task_id} for one in outcome.fires]


def _coming(coming: Coming) -> dict[str, Any]:
    view: dict[str, Any] = {"reading": coming.reading.isoformat(timespec="seconds")}
    if coming.at is not None:
        view["at"] = moment(millis_of(coming.at))
    if coming.mark is not None:
        view["mark"] = coming.mark
    return view
