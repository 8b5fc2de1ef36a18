"""Turns a request for a schedule into a definition, or returns what is wrong and where."""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct
from msgspec.structs import replace

from taskmill.core.refusal import Refusal, invalid
from taskmill.core.task import Millis
from taskmill.schedules.clock_changes import Dst
from taskmill.schedules.fire_step import moment_of
from taskmill.schedules.occurrences import Unusable, read_calendar
from taskmill.schedules.request import (
    NAME,
    NamedScheduleRequest,
    RevisedScheduleRequest,
    ScheduleRequest,
)
from taskmill.schedules.schedule import Definition
from taskmill.submission.ports import Catalogue
from taskmill.submission.read import misfit, read_submission

OF_A_FIRE = ("idempotency_key", "run_at", "delay_seconds", "expires_at")
"""Fields that each fire sets itself."""


class WantedSchedule(Struct, frozen=True, kw_only=True):
    """A valid schedule: every field was checked."""

    name: str
    definition: Definition
    enabled: bool | None
    revision: int | None = None


def read_new(value: Any, catalogue: Catalogue, *, now: Millis) -> WantedSchedule | Refusal:
    """Return the schedule that *value* (a JSON value) asks to create, or the first refusal."""
    request = _request(value, NamedScheduleRequest)
    if isinstance(request, Refusal):
        return request
    if NAME.fullmatch(request.name) is None:
        detail = "a name must have up to 100 letters, digits, dots, hyphens and underscores"
        return invalid("invalid_request", detail, "/name")
    return _schedule_of(request.name, request, value, catalogue, now)


def read_replacement(
    name: str, value: Any, catalogue: Catalogue, *, now: Millis
) -> WantedSchedule | Refusal:
    """Return the new definition of the schedule of this name, or the first refusal."""
    request = _request(value, RevisedScheduleRequest)
    if isinstance(request, Refusal):
        return request
    schedule = _schedule_of(name, request, value, catalogue, now)
    if isinstance(schedule, Refusal) or request.revision is UNSET:
        return schedule
    return replace(schedule, revision=request.revision)


R = TypeVar("R", bound=ScheduleRequest)


def _request(value: Any, kind: type[R]) -> R | Refusal:
    if not isinstance(value, dict):
        return invalid("invalid_request", "a schedule must be a JSON object", "")
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        return misfit(str(error))


def _schedule_of(
    name: str,
    request: ScheduleRequest,
    value: Mapping[str, Any],
    catalogue: Catalogue,
    now: Millis,
) -> WantedSchedule | Refusal:
    refusal = _wrong_time(request, now) or _wrong_task(value["task"], catalogue, now)
    if refusal is not None:
        return refusal
    definition = Definition(
        task=Raw(msgspec.json.encode(value["task"])),
        cron=request.cron or None,
        every_seconds=request.every_seconds or None,
        timezone=request.timezone,
        dst=_dst(request),
        overlap=request.overlap,
        catch_up=request.catch_up,
        catch_up_window_seconds=request.catch_up_window_seconds,
        jitter_seconds=request.jitter_seconds,
    )
    enabled = None if request.enabled is UNSET else request.enabled
    return WantedSchedule(name=name, definition=definition, enabled=enabled)


def _wrong_time(request: ScheduleRequest, now: Millis) -> Refusal | None:
    calendar = read_calendar(
        cron=None if request.cron is UNSET else request.cron,
        every_seconds=None if request.every_seconds is UNSET else request.every_seconds,
        zone=request.timezone,
        dst=_dst(request),
        now=moment_of(now),
    )
    if isinstance(calendar, Unusable):
        return invalid("invalid_schedule", calendar.reason, f"/{calendar.field}")
    return None


def _dst(request: ScheduleRequest) -> Dst:
    return Dst(gap=request.dst.gap, fold=request.dst.fold)


def _wrong_task(value: Any, catalogue: Catalogue, now: Millis) -> Refusal | None:
    fields = value if isinstance(value, dict) else {}
    for name in OF_A_FIRE:
        if name in fields:
            detail = f"each fire sets its own {name}: omit it"
            return invalid("invalid_request", detail, f"/task/{name}")
    if "payload_ref" in fields:
        detail = "uploads are not kept as long as schedules: send the payload itself"
        return invalid("invalid_request", detail, "/task/payload_ref")
    submission = read_submission(value, None, catalogue, now=now)
    if isinstance(submission, Refusal):
        return replace(submission, pointer=f"/task{submission.pointer or ''}")
    return None
