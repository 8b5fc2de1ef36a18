"""The request for a schedule."""

import re
from datetime import timedelta
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from taskmill.schedules.calendar import LONGEST_EVERY
from taskmill.schedules.catch_up import MOST, ON_TIME, WINDOW, CatchUp
from taskmill.schedules.coming import Fold, Gap
from taskmill.schedules.schedule import Overlap

_SECOND = timedelta(seconds=1)
LONGEST_WINDOW = timedelta(days=30)
LONGEST_JITTER = timedelta(days=1)
LONGEST_EXPRESSION = 255

Name = Annotated[
    str,
    Meta(
        description="Up to 100 letters, digits, points, hyphens and underscores.",
        extra_json_schema={"pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"},
    ),
]
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class DstRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What becomes of readings that clocks leave out, or show twice."""

    gap: Annotated[Gap, Meta(description="They do not fire, or later by the jump.")] = Gap.SKIP
    fold: Annotated[Fold, Meta(description="They fire once, or both times.")] = Fold.FIRST


class ScheduleRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is to be submitted, and when: by a cron expression or by a period."""

    task: Any
    cron: (
        Annotated[
            str,
            Meta(
                max_length=LONGEST_EXPRESSION,
                description="Minute, hour, day, month, weekday; a sixth is the second.",
                extra_json_schema={"format": "cron"},
            ),
        ]
        | UnsetType
    ) = UNSET
    every_seconds: (
        Annotated[
            int,
            Meta(ge=1, le=LONGEST_EVERY // _SECOND, description="A period, counted from 1970."),
        ]
        | UnsetType
    ) = UNSET
    timezone: Annotated[
        str,
        Meta(
            max_length=64,
            description="Of the IANA, such as Europe/Berlin.",
            extra_json_schema={"format": "timezone"},
        ),
    ] = "UTC"
    dst: DstRequest = DstRequest()
    overlap: Annotated[
        Overlap,
        Meta(description="What becomes of a fire while the task of the one before has not ended."),
    ] = Overlap.ALLOW
    catch_up: Annotated[
        CatchUp,
        Meta(
            description="What becomes of instants at which no scheduler was there: older than"
            f" {ON_TIME // _SECOND} s. Of `all`, the latest {MOST} fire."
        ),
    ] = CatchUp.ONE
    catch_up_window_seconds: Annotated[
        int, Meta(ge=1, le=LONGEST_WINDOW // _SECOND, description="How old `all` may be.")
    ] = WINDOW // _SECOND
    jitter_seconds: Annotated[
        float,
        Meta(
            ge=0,
            le=LONGEST_JITTER // _SECOND,
            description="A task begins up to so much later; each instant always by as much.",
        ),
    ] = 0.0
    enabled: (
        Annotated[bool, Meta(description="False is paused; left out, it stays as it is.")]
        | UnsetType
    ) = UNSET


class NamedScheduleRequest(ScheduleRequest, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A schedule to be made."""

    name: Name


class RevisedScheduleRequest(
    ScheduleRequest, frozen=True, kw_only=True, forbid_unknown_fields=True
):
    """A schedule as it is to be from now on."""

    revision: (
        Annotated[
            int, Meta(ge=1, description="Which one is replaced; left out, whichever is there.")
        ]
        | UnsetType
    ) = UNSET
