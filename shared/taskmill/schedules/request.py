"""The request for a schedule."""

import re
from datetime import timedelta
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from taskmill.schedules.catch_up import MOST, ON_TIME, WINDOW, CatchUp
from taskmill.schedules.clock_changes import Fold, Gap
from taskmill.schedules.occurrences import LONGEST_EVERY
from taskmill.schedules.schedule import Overlap

_SECOND = timedelta(seconds=1)
LONGEST_WINDOW = timedelta(days=30)
LONGEST_JITTER = timedelta(days=1)
LONGEST_EXPRESSION = 255

Name = Annotated[
    str,
    Meta(
        description="Up to 100 letters, digits, dots, hyphens and underscores.",
        extra_json_schema={"pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"},
    ),
]
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class DstRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to do with readings that clocks skip or show twice."""

    gap: Annotated[Gap, Meta(description="Skip them, or fire them later by the clock change.")] = (
        Gap.SKIP
    )
    fold: Annotated[Fold, Meta(description="Fire once, or both times.")] = Fold.FIRST


class ScheduleRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to submit, and when: by a cron expression or by a period."""

    task: Any
    cron: (
        Annotated[
            str,
            Meta(
                max_length=LONGEST_EXPRESSION,
                description="Minute, hour, day, month, weekday; an optional sixth field is the"
                " second.",
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
            description="IANA time zone, such as Europe/Berlin.",
            extra_json_schema={"format": "timezone"},
        ),
    ] = "UTC"
    dst: DstRequest = DstRequest()
    overlap: Annotated[
        Overlap,
        Meta(description="What to do when the previous fire's task has not ended."),
    ] = Overlap.ALLOW
    catch_up: Annotated[
        CatchUp,
        Meta(
            description="What to do with instants that no scheduler fired within"
            f" {ON_TIME // _SECOND} s. With `all`, the latest {MOST} fire."
        ),
    ] = CatchUp.ONE
    catch_up_window_seconds: Annotated[
        int,
        Meta(
            ge=1,
            le=LONGEST_WINDOW // _SECOND,
            description="Maximum age of the instants that `all` fires.",
        ),
    ] = WINDOW // _SECOND
    jitter_seconds: Annotated[
        float,
        Meta(
            ge=0,
            le=LONGEST_JITTER // _SECOND,
            description="A task starts up to this much later; the delay of an instant is always"
            " the same.",
        ),
    ] = 0.0
    enabled: (
        Annotated[bool, Meta(description="False pauses it; if omitted, unchanged.")] | UnsetType
    ) = UNSET


class NamedScheduleRequest(ScheduleRequest, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A schedule to create."""

    name: Name


class RevisedScheduleRequest(
    ScheduleRequest, frozen=True, kw_only=True, forbid_unknown_fields=True
):
    """The new state of a schedule."""

    revision: (
        Annotated[int, Meta(ge=1, description="The revision to replace; if omitted, any.")]
        | UnsetType
    ) = UNSET
