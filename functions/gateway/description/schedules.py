"""Describes schedules."""

from http import HTTPStatus
from typing import Annotated, Any, Final
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from functions.gateway.description.answers import Count, Moment, NextCursor
from functions.gateway.description.examples import ID
from functions.gateway.description.operation import Answer, Example, Operation, Parameter
from functions.gateway.description.parameters import CURSOR, LIMIT, asked
from functions.gateway.firing import LARGEST_COUNT, USUAL_COUNT, BackfillRequest
from functions.gateway.http.problem import ProblemType
from taskmill.schedules.catch_up import CatchUp
from taskmill.schedules.coming import Dst, Mark
from taskmill.schedules.request import NamedScheduleRequest, RevisedScheduleRequest
from taskmill.schedules.schedule import Overlap
from taskmill.submission.request import MaxAttempts, Metadata, RetryRequest, TimeoutSeconds

SCHEDULE: Final = "nightly-report"
OTHER: Final = "weekly-report"


class ScheduledTask(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A task without what each fire has of its own: its key and its times."""

    type: Annotated[str, Meta(min_length=1, max_length=128, description="A deployed type.")]
    payload: Any = msgspec.field(default_factory=dict)
    max_attempts: MaxAttempts | UnsetType = UNSET
    timeout_seconds: TimeoutSeconds | UnsetType = UNSET
    retry: RetryRequest = RetryRequest()
    metadata: Metadata = {}


class NewSchedule(NamedScheduleRequest, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A schedule to be made: a task, and when it is to be submitted."""

    task: ScheduledTask


class RevisedSchedule(
    RevisedScheduleRequest, frozen=True, kw_only=True, forbid_unknown_fields=True
):
    """A schedule as it is to be from now on."""

    task: ScheduledTask


class LastRefusal(Struct, kw_only=True):
    """Why the task of the last fire was not taken, as when it fits its type no more."""

    type: str
    detail: str


class Schedule(Struct, kw_only=True):
    """A schedule as it is now, and what it has done."""

    name: str
    task: Annotated[dict[str, Any], Meta(description="In lists, without its payload.")]
    cron: str | UnsetType = UNSET
    every_seconds: Count | UnsetType = UNSET
    timezone: str
    dst: Dst
    overlap: Overlap
    catch_up: CatchUp
    catch_up_window_seconds: Count
    jitter_seconds: float
    enabled: bool
    managed: Annotated[bool, Meta(description="Declared in the folder of its type.")]
    revision: Annotated[Count, Meta(description="Another one after each change by people.")]
    next_at: (
        Annotated[Moment, Meta(description="None while it is paused, or when none comes.")]
        | UnsetType
    ) = UNSET
    waits: (
        Annotated[bool, Meta(description="`next_at` has come, and is still to be fired.")]
        | UnsetType
    ) = UNSET
    paused_at: Moment | UnsetType = UNSET
    paused_by: str | UnsetType = UNSET
    last_at: (
        Annotated[Moment, Meta(description="The instant that fired last, or was triggered.")]
        | UnsetType
    ) = UNSET
    last_fired_at: Moment | UnsetType = UNSET
    last_task_id: UUID | UnsetType = UNSET
    last_refusal: LastRefusal | UnsetType = UNSET
    fired: Count
    skipped: Annotated[Count, Meta(description="The task before had not ended.")]
    missed: Annotated[
        Count,
        Meta(
            description="No scheduler was there, or it was paused before, and it was not made up."
        ),
    ]
    backfilled: Annotated[Count, Meta(description="Asked for by backfills, beside `fired`.")]
    created_at: Moment
    changed_at: Moment


class SchedulePage(Struct):
    """In the order of their names."""

    schedules: list[Schedule]
    next_cursor: NextCursor


class ScheduleFire(Struct, kw_only=True):
    """An instant, and the task that it is."""

    at: Moment
    task_id: UUID


class Fires(Struct):
    """Those that fired before are the tasks that they were."""

    fires: list[ScheduleFire]


class ComingFire(Struct, kw_only=True):
    """A reading of the clocks of its zone, and when it fires; `skipped` ones do not."""

    reading: Annotated[str, Meta(description="Without an offset: as a clock there shows it.")]
    at: Moment | UnsetType = UNSET
    mark: Mark | UnsetType = UNSET


class ComingFires(Struct):
    """From now on, in their order."""

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
_NAME: Final = Parameter(name="name", place="path", type=str, what="The name of a schedule.")
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
    summary="Submit a task again and again",
    details="Each fire is a task of its own, under a key made of the name and the instant.",
    takes=NewSchedule,
    answers={
        HTTPStatus.CREATED: Answer(what="It is made.", body=Schedule, has_location=True),
        HTTPStatus.OK: Answer(what="It is there as it is.", body=Schedule),
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
            name="the same again",
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
            name="the first ones",
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
    summary="Make or replace a schedule",
    details="It counts at once. An instant that has come and was not fired yet fires once, with"
    " the new task. Without `revision` the last writer wins.",
    parameters=[_NAME],
    takes=RevisedSchedule,
    answers={
        HTTPStatus.OK: Answer(what="It is as wanted.", body=Schedule),
        HTTPStatus.CREATED: Answer(what="It is made.", body=Schedule, has_location=True),
    },
    problems=[*_OF_A_REQUEST, "not_found", "changed_meanwhile", "managed_schedule"],
    examples=[
        Example(
            name="as it was",
            status=HTTPStatus.OK,
            given=_THAT_ONE,
            body=_ASKED,
            answer=_MADE,
        ),
        Example(
            name="another one, every week",
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
    details="What it has fired stays.",
    parameters=[_NAME],
    answers={HTTPStatus.OK: Answer(what="What it was.", body=Schedule)},
    problems=["not_found", "managed_schedule", "unavailable"],
    examples=[
        Example(
            name="one that is no longer wanted",
            status=HTTPStatus.OK,
            given={"name": OTHER},
            answer=_WEEKLY,
        )
    ],
)
PAUSE: Final = Operation(
    route="POST /v1/schedules/{name}/pause",
    name="pauseSchedule",
    summary="Let a schedule fire no more until it is resumed",
    parameters=[_NAME],
    answers={HTTPStatus.OK: Answer(what="The schedule.", body=Schedule)},
    problems=["not_found", "unavailable"],
    examples=[Example(name="a schedule", status=HTTPStatus.OK, given=_THAT_ONE, answer=_PAUSED)],
)
RESUME: Final = Operation(
    route="POST /v1/schedules/{name}/resume",
    name="resumeSchedule",
    summary="Let a paused schedule go on with its next instant",
    details="What lies in the pause is not made up for: backfill it.",
    parameters=[_NAME],
    answers={HTTPStatus.OK: Answer(what="The schedule.", body=Schedule)},
    problems=["not_found", "unavailable", "invalid_schedule"],
    examples=[Example(name="a schedule", status=HTTPStatus.OK, given=_THAT_ONE, answer=_MADE)],
)
TRIGGER: Final = Operation(
    route="POST /v1/schedules/{name}/trigger",
    name="triggerSchedule",
    summary="Fire a schedule now",
    details="Beside its rule, whether it is paused or not, and whatever still runs.",
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
    summary="Fire the instants of a range that is past",
    details="All at once, whatever overlaps. An instant that fired before is that task; within"
    " 72 hours it does not run again.",
    parameters=[_NAME],
    takes=BackfillRequest,
    answers={HTTPStatus.ACCEPTED: Answer(what="What was asked for.", body=Fires)},
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
    details="With a mark where daylight saving begins or ends.",
    parameters=[
        _NAME,
        asked(
            "count",
            Annotated[
                int, Meta(ge=1, le=LARGEST_COUNT, extra_json_schema={"default": USUAL_COUNT})
            ],
            "How many at most.",
        ),
    ],
    answers={HTTPStatus.OK: Answer(what="What comes.", body=ComingFires)},
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
