"""Describes schedules."""

from http import HTTPStatus
from typing import Annotated, Any, Final
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from functions.gateway.description.answers import Count, Moment, NextCursor
from functions.gateway.description.examples import ID
from functions.gateway.description.operation import Answer, Example, Operation, Parameter
from functions.gateway.description.parameters import CURSOR, LIMIT, query_parameter
from functions.gateway.http.problem import ProblemType
from functions.gateway.trigger import LARGEST_COUNT, USUAL_COUNT, BackfillRequest
from taskmill.schedules.catch_up import CatchUp
from taskmill.schedules.clock_changes import Dst, Mark
from taskmill.schedules.request import NamedScheduleRequest, RevisedScheduleRequest
from taskmill.schedules.schedule import Overlap
from taskmill.submission.request import (
    FairnessKey,
    MaxAttempts,
    Metadata,
    PriorityRequest,
    RetryRequest,
    TimeoutSeconds,
)

SCHEDULE: Final = "nightly-report"
OTHER: Final = "weekly-report"


class ScheduledTask(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A task without the fields that differ for each fire: its key and its times."""

    type: Annotated[str, Meta(min_length=1, max_length=128, description="A deployed type.")]
    payload: Any = msgspec.field(default_factory=dict)
    max_attempts: MaxAttempts | UnsetType = UNSET
    timeout_seconds: TimeoutSeconds | UnsetType = UNSET
    retry: RetryRequest = RetryRequest()
    metadata: Metadata = {}
    priority: PriorityRequest | UnsetType = UNSET
    fairness_key: FairnessKey | UnsetType = UNSET


class NewSchedule(NamedScheduleRequest, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A schedule to create: a task, and when to submit it."""

    task: ScheduledTask


class RevisedSchedule(
    RevisedScheduleRequest, frozen=True, kw_only=True, forbid_unknown_fields=True
):
    """The new state of a schedule."""

    task: ScheduledTask


class LastRefusal(Struct, kw_only=True):
    """Why the latest fire created no task, such as a payload that no longer fits the type."""

    type: str
    detail: str


class Schedule(Struct, kw_only=True):
    """The current state of a schedule and its counters."""

    name: str
    task: Annotated[dict[str, Any], Meta(description="In lists, without the payload.")]
    cron: str | UnsetType = UNSET
    every_seconds: Count | UnsetType = UNSET
    timezone: str
    dst: Dst
    overlap: Overlap
    catch_up: CatchUp
    catch_up_window_seconds: Count
    jitter_seconds: float
    enabled: bool
    managed: Annotated[bool, Meta(description="Whether it is declared in the folder of its type.")]
    revision: Annotated[Count, Meta(description="Changes with every change made by a person.")]
    next_at: (
        Annotated[
            Moment, Meta(description="Absent while it is paused, or when it never fires again.")
        ]
        | UnsetType
    ) = UNSET
    waits: (
        Annotated[bool, Meta(description="`next_at` has passed and has not been fired yet.")]
        | UnsetType
    ) = UNSET
    paused_at: Moment | UnsetType = UNSET
    paused_by: str | UnsetType = UNSET
    last_at: (
        Annotated[Moment, Meta(description="The latest instant that fired or was triggered.")]
        | UnsetType
    ) = UNSET
    last_fired_at: Moment | UnsetType = UNSET
    last_task_id: UUID | UnsetType = UNSET
    last_refusal: LastRefusal | UnsetType = UNSET
    fired: Count
    skipped: Annotated[
        Count, Meta(description="Instants skipped because the previous task had not ended.")
    ]
    missed: Annotated[
        Count,
        Meta(description="Instants missed while no scheduler ran or the schedule was paused."),
    ]
    backfilled: Annotated[
        Count, Meta(description="Instants requested by backfills; not included in `fired`.")
    ]
    created_at: Moment
    changed_at: Moment


class SchedulePage(Struct):
    """Sorted by name."""

    schedules: list[Schedule]
    next_cursor: NextCursor


class ScheduleFire(Struct, kw_only=True):
    """An instant and its task."""

    at: Moment
    task_id: UUID


class Fires(Struct):
    """Instants that fired before have the task that they fired then."""

    fires: list[ScheduleFire]


class ComingFire(Struct, kw_only=True):
    """A local time in its zone and when it fires; `skipped` ones do not fire."""

    reading: Annotated[str, Meta(description="Local time without an offset.")]
    at: Moment | UnsetType = UNSET
    mark: Mark | UnsetType = UNSET


class ComingFires(Struct):
    """Upcoming instants, soonest first."""

    next: list[ComingFire]


_TASK: Final = {"type": "echo", "payload": {"say": "good morning"}}
_ASKED: Final[dict[str, Any]] = {
    "cron": "30 2 * * *",
    "timezone": "Europe/Berlin",
    "dst": {"gap": "shift", "fold": "first"},
    "overlap": "skip",
    "task": _TASK,
}
_MADE: Final[dict[str, Any]] = _ASKED | {
    "name": SCHEDULE,
    "catch_up": "one",
    "catch_up_window_seconds": 86_400,
    "jitter_seconds": 0.0,
    "enabled": True,
    "managed": False,
    "revision": 1,
    "next_at": "2026-11-07T01:30:00.000Z",
    "fired": 0,
    "skipped": 0,
    "missed": 0,
    "backfilled": 0,
    "created_at": "2026-11-06T21:20:00.000Z",
    "changed_at": "2026-11-06T21:20:00.000Z",
}
_PAUSED: Final[dict[str, Any]] = {
    name: value for name, value in _MADE.items() if name != "next_at"
} | {"enabled": False, "paused_at": "2026-11-06T21:20:00.000Z", "paused_by": "anybody"}
_WEEKLY: Final[dict[str, Any]] = {
    name: value for name, value in _MADE.items() if name != "cron"
} | {"name": OTHER, "every_seconds": 604_800, "jitter_seconds": 60.0}
_NAME: Final = Parameter(name="name", place="path", type=str, what="The name of the schedule.")
_THAT_ONE: Final = {"name": SCHEDULE}
_OF_A_REQUEST: Final[tuple[ProblemType, ...]] = (
    "bad_request",
    "unsupported_media_type",
    "invalid_request",
    "invalid_schedule",
    "unknown_type",
    "invalid_payload",
    "payload_too_large",
    "not_supported_yet",
    "unavailable",
)

MAKE: Final = Operation(
    route="POST /v1/schedules",
    name="makeSchedule",
    summary="Create a schedule",
    details="Each fire submits a task whose idempotency key is made of the name and the instant.",
    takes=NewSchedule,
    answers={
        HTTPStatus.CREATED: Answer(
            what="The schedule was created.", body=Schedule, has_location=True
        ),
        HTTPStatus.OK: Answer(
            what="The schedule already exists with the same content.", body=Schedule
        ),
    },
    problems=[*_OF_A_REQUEST, "already_exists"],
    examples=[
        Example(
            name="every night",
            status=HTTPStatus.CREATED,
            body=_ASKED | {"name": SCHEDULE},
            answer=_MADE,
        ),
        Example(
            name="the same request again",
            status=HTTPStatus.OK,
            body=_ASKED | {"name": SCHEDULE},
            answer=_MADE,
        ),
    ],
)
LIST: Final = Operation(
    route="GET /v1/schedules",
    name="listSchedules",
    summary="List schedules",
    parameters=[LIMIT, CURSOR],
    answers={HTTPStatus.OK: Answer(what="A page.", body=SchedulePage)},
    problems=["bad_request", "invalid_request", "unavailable"],
    examples=[
        Example(
            name="the first schedules",
            status=HTTPStatus.OK,
            given={"limit": "200"},
            answer={"schedules": [_MADE | {"task": {"type": "echo"}}], "next_cursor": None},
        )
    ],
)
READ: Final = Operation(
    route="GET /v1/schedules/{name}",
    name="readSchedule",
    summary="Read a schedule",
    parameters=[_NAME],
    answers={HTTPStatus.OK: Answer(what="The schedule.", body=Schedule)},
    problems=["not_found", "unavailable"],
    examples=[Example(name="a schedule", status=HTTPStatus.OK, given=_THAT_ONE, answer=_MADE)],
)
PUT: Final = Operation(
    route="PUT /v1/schedules/{name}",
    name="putSchedule",
    summary="Create or replace a schedule",
    details="The change takes effect at once. An instant that is due but has not fired yet fires"
    " once, with the new task. Without `revision` the last writer wins.",
    parameters=[_NAME],
    takes=RevisedSchedule,
    answers={
        HTTPStatus.OK: Answer(what="The schedule was replaced.", body=Schedule),
        HTTPStatus.CREATED: Answer(
            what="The schedule was created.", body=Schedule, has_location=True
        ),
    },
    problems=[*_OF_A_REQUEST, "not_found", "changed_meanwhile", "managed_schedule"],
    examples=[
        Example(
            name="unchanged",
            status=HTTPStatus.OK,
            given=_THAT_ONE,
            body=_ASKED,
            answer=_MADE,
        ),
        Example(
            name="a new schedule, every week",
            status=HTTPStatus.CREATED,
            given={"name": OTHER},
            body={name: value for name, value in _ASKED.items() if name != "cron"}
            | {"every_seconds": 604_800, "jitter_seconds": 60},
            answer=_WEEKLY,
        ),
    ],
)
DELETE: Final = Operation(
    route="DELETE /v1/schedules/{name}",
    name="deleteSchedule",
    summary="Delete a schedule",
    details="Tasks that it has fired are not affected.",
    parameters=[_NAME],
    answers={HTTPStatus.OK: Answer(what="The deleted schedule.", body=Schedule)},
    problems=["not_found", "managed_schedule", "unavailable"],
    examples=[
        Example(
            name="a schedule that is no longer needed",
            status=HTTPStatus.OK,
            given={"name": OTHER},
            answer=_WEEKLY,
        )
    ],
)
PAUSE: Final = Operation(
    route="POST /v1/schedules/{name}/pause",
    name="pauseSchedule",
    summary="Pause a schedule until it is resumed",
    parameters=[_NAME],
    answers={HTTPStatus.OK: Answer(what="The schedule.", body=Schedule)},
    problems=["not_found", "unavailable"],
    examples=[Example(name="a schedule", status=HTTPStatus.OK, given=_THAT_ONE, answer=_PAUSED)],
)
RESUME: Final = Operation(
    route="POST /v1/schedules/{name}/resume",
    name="resumeSchedule",
    summary="Resume a paused schedule with its next instant",
    details="Instants during the pause are not made up; use a backfill.",
    parameters=[_NAME],
    answers={HTTPStatus.OK: Answer(what="The schedule.", body=Schedule)},
    problems=["not_found", "unavailable", "invalid_schedule"],
    examples=[Example(name="a schedule", status=HTTPStatus.OK, given=_THAT_ONE, answer=_MADE)],
)
TRIGGER: Final = Operation(
    route="POST /v1/schedules/{name}/trigger",
    name="triggerSchedule",
    summary="Fire a schedule now",
    details="It fires in addition to its rule, even if it is paused or a previous task still runs.",
    parameters=[_NAME],
    answers={HTTPStatus.ACCEPTED: Answer(what="The task.", body=ScheduleFire, has_location=True)},
    problems=["not_found", "unavailable"],
    examples=[
        Example(
            name="a schedule",
            status=HTTPStatus.ACCEPTED,
            given=_THAT_ONE,
            answer={"at": "2026-11-06T21:20:00.123Z", "task_id": ID},
        )
    ],
)
BACKFILL: Final = Operation(
    route="POST /v1/schedules/{name}/backfill",
    name="backfillSchedule",
    summary="Fire the instants of a past range",
    details="All fire at once, whatever the overlap policy. An instant that fired within the last"
    " 72 hours returns its task and does not run again.",
    parameters=[_NAME],
    takes=BackfillRequest,
    answers={HTTPStatus.ACCEPTED: Answer(what="The instants and their tasks.", body=Fires)},
    problems=[
        "bad_request",
        "unsupported_media_type",
        "invalid_request",
        "invalid_schedule",
        "not_found",
        "unavailable",
    ],
    examples=[
        Example(
            name="a day",
            status=HTTPStatus.ACCEPTED,
            given=_THAT_ONE,
            body={"from": "2025-06-01T00:00:00Z", "until": "2025-06-01T23:59:59Z"},
            answer={"fires": [{"at": "2025-06-01T00:30:00.000Z", "task_id": ID}]},
        )
    ],
)
PREVIEW: Final = Operation(
    route="GET /v1/schedules/{name}/next",
    name="previewSchedule",
    summary="See when a schedule fires next",
    details="Instants shifted by daylight saving time are marked.",
    parameters=[
        _NAME,
        query_parameter(
            "count",
            Annotated[
                int, Meta(ge=1, le=LARGEST_COUNT, extra_json_schema={"default": USUAL_COUNT})
            ],
            "Maximum number of instants.",
        ),
    ],
    answers={HTTPStatus.OK: Answer(what="The upcoming instants.", body=ComingFires)},
    problems=["not_found", "invalid_request", "invalid_schedule", "unavailable"],
    examples=[
        Example(
            name="the next night",
            status=HTTPStatus.OK,
            given=_THAT_ONE | {"count": "1"},
            answer={"next": [{"reading": "2026-11-07T02:30:00", "at": "2026-11-07T01:30:00.000Z"}]},
        )
    ],
)
OPERATIONS: Final = (
    MAKE, LIST, READ, PUT, DELETE, PAUSE, RESUME, TRIGGER, BACKFILL, PREVIEW
)  # fmt: skip
