"""Creates, shows, edits, pauses, resumes and deletes schedules."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, assert_never

import msgspec
from msgspec import Raw

from functions.gateway.http.answer import Told
from functions.gateway.http.cursor import Mark, cursor_behind, mark_of
from functions.gateway.http.page import Line, fitting
from functions.gateway.http.problem import (
    Problem,
    conflict,
    missing,
    problem_of,
    unavailable,
    unknown_parameter,
)
from functions.gateway.listing import read_limit
from functions.gateway.presenter import moment
from functions.gateway.stores import stores
from taskmill.core.refusal import Refusal
from taskmill.core.task import DEFAULT_TENANT, Millis
from taskmill.platform import process
from taskmill.schedules.manage import (
    Changed,
    Kept,
    NoSchedule,
    OfAFolder,
    Restless,
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

_NO_TIME = Millis(0)


def make_schedule(body: bytes, *, by: str) -> Told | Problem:
    given = read_value(body)
    if isinstance(given, Refusal):
        return problem_of(given)
    wanted = read_new(given, stores().catalogue, now=process.clock())
    if isinstance(wanted, Refusal):
        return problem_of(wanted)
    made = make(wanted, stores().schedules, tenant=DEFAULT_TENANT, by=by)
    return _tell(wanted.name, made)


def put_schedule(name: str, body: bytes, *, by: str) -> Told | Problem:
    given = read_value(body)
    if isinstance(given, Refusal):
        return problem_of(given)
    if NAME.fullmatch(name) is None:
        return no_schedule(name)
    wanted = read_replacement(name, given, stores().catalogue, now=process.clock())
    if isinstance(wanted, Refusal):
        return problem_of(wanted)
    return _tell(name, put(wanted, stores().schedules, tenant=DEFAULT_TENANT, by=by))


def list_schedules(given: Mapping[str, str]) -> Told | Problem:
    unknown = unknown_parameter(given, {"limit", "cursor"})
    if unknown is not None:
        return unknown
    limit = read_limit(given.get("limit"))
    if isinstance(limit, Problem):
        return limit
    mark = mark_of(given["cursor"], given) if "cursor" in given else Mark(_NO_TIME, "")
    if isinstance(mark, Problem):
        return mark
    found = stores().schedules.page(DEFAULT_TENANT, after=mark.name, limit=limit + 1)
    lines = [Line(_listed(one), Mark(_NO_TIME, one.name)) for one in found[:limit]]
    told, behind = fitting(lines, behind=lines[-1].mark if len(found) > limit else None)
    cursor = cursor_behind(behind, given) if behind else None
    return Told(HTTPStatus.OK, {"schedules": told, "next_cursor": cursor})


def read_schedule(name: str) -> Told | Problem:
    found = find(name)
    return no_schedule(name) if found is None else Told(HTTPStatus.OK, shown(found))


def delete_schedule(name: str) -> Told | Problem:
    return _tell(name, delete(name, stores().schedules, tenant=DEFAULT_TENANT))


def pause_schedule(name: str, *, by: str) -> Told | Problem:
    return _tell(name, pause(name, stores().schedules, tenant=DEFAULT_TENANT, by=by))


def resume_schedule(name: str) -> Told | Problem:
    return _tell(name, resume(name, stores().schedules, tenant=DEFAULT_TENANT))


def find(name: str) -> Schedule | None:
    return stores().schedules.find(DEFAULT_TENANT, name) if NAME.fullmatch(name) else None


def no_schedule(name: str) -> Problem:
    return missing(f"there is no schedule {name}")


def restless() -> Problem:
    return unavailable("the schedule kept changing during the request; try again", 1)


def _tell(
    name: str, answer: Kept | Taken | Changed | NoSchedule | OfAFolder | Restless
) -> Told | Problem:
    match answer:
        case Kept(schedule, is_new=True):
            return Told(HTTPStatus.CREATED, shown(schedule), f"/v1/schedules/{name}")
        case Kept(schedule):
            return Told(HTTPStatus.OK, shown(schedule))
        case Taken(schedule):
            detail = f"another schedule {name} exists, with revision {schedule.revision}"
            return conflict("already_exists", detail)
        case Changed(schedule):
            return conflict(
                "changed_meanwhile", f"the schedule now has revision {schedule.revision}"
            )
        case NoSchedule():
            return no_schedule(name)
        case OfAFolder():
            detail = f"the schedule {name} is declared in the folder of its type: change it there"
            return conflict("managed_schedule", detail)
        case Restless():
            return restless()
        case _:
            assert_never(answer)


def _listed(schedule: Schedule) -> dict[str, Any]:
    """Return what those see who asked for many: no payload, like in other lists."""
    task = msgspec.json.decode(schedule.definition.task, type=dict[str, Raw])
    task.pop("payload", None)
    return shown(schedule) | {"task": task}


def shown(schedule: Schedule) -> dict[str, Any]:
    told = {
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
        told["next_at"] = moment(schedule.next_at_ms)
    if schedule.held:
        told["waits"] = True
    if schedule.paused is not None:
        told["paused_at"] = moment(schedule.paused.at_ms)
        told["paused_by"] = schedule.paused.by
    if schedule.last is not None:
        told["last_at"] = moment(schedule.last.nominal_ms)
        told["last_fired_at"] = moment(schedule.last.at_ms)
        told["last_task_id"] = schedule.last.task_id
    if schedule.refused is not None:
        told["last_refusal"] = {"type": schedule.refused.code, "detail": schedule.refused.detail}
    return told


def _times(definition: Definition) -> dict[str, Any]:
    told = msgspec.structs.asdict(definition)
    return {name: value for name, value in told.items() if value is not None}
