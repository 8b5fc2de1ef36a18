"""Describes redrive jobs."""

from http import HTTPStatus
from typing import Annotated, Any, Final
from uuid import UUID

from msgspec import UNSET, Meta, Struct, UnsetType

from functions.gateway.description.answers import Count, Moment
from functions.gateway.description.examples import SINCE
from functions.gateway.description.operation import Answer, Example, Operation, Parameter
from functions.gateway.description.parameters import LIMIT
from functions.gateway.description.reasons import Reason
from functions.gateway.redrives import RedriveRequest
from taskmill.orders.redrive_job import JobState

JOB_ID: Final = "019f4a6b-5061-7273-8e8f-9a0b1c2d3e4f"


class RedriveJob(Struct, kw_only=True):
    """Slowly redrives the tasks that were dead when the job was created."""

    id: UUID
    state: JobState
    why: Annotated[str, Meta(description="Why the job paused.")] | UnsetType = UNSET
    type: str | UnsetType = UNSET
    reason: Reason | UnsetType = UNSET
    error_class: str | UnsetType = UNSET
    dead_after: Moment | UnsetType = UNSET
    dead_before: Moment | UnsetType = UNSET
    rate_per_second: float
    limit: Annotated[int, Meta(ge=1)]
    total: Count
    left: Count
    redriven: Count
    skipped: Annotated[
        Count, Meta(description="Tasks that were no longer dead when the job reached them.")
    ]
    succeeded: Count
    failed: Count
    cancelled: Count
    created_at: Moment
    changed_at: Moment


class RedriveJobs(Struct):
    """Latest first."""

    redrives: list[RedriveJob]


_RUNNING: Final[dict[str, Any]] = {
    "id": JOB_ID,
    "state": "running",
    "reason": "discarded",
    "dead_after": SINCE,
    "rate_per_second": 0.1,
    "limit": 100_000,
    "total": 1,
    "left": 1,
    "redriven": 0,
    "skipped": 0,
    "succeeded": 0,
    "failed": 0,
    "cancelled": 0,
    "created_at": "2026-11-06T21:30:00.000Z",
    "changed_at": "2026-11-06T21:30:00.000Z",
}
_STOPPED: Final = _RUNNING | {"state": "stopped"}
_NAME: Final = Parameter(name="name", place="path", type=UUID, what="The id of a redrive job.")
_THAT_ONE: Final = {"name": JOB_ID}

MAKE: Final = Operation(
    route="POST /v1/redrives",
    name="makeRedriveJob",
    summary="Redrive many dead tasks",
    details="The first ten are a canary: if more than a third of those that ended fail again, the"
    " job pauses and gives the reason. An identical request returns the same job while it is"
    " active.",
    takes=RedriveRequest,
    answers={HTTPStatus.ACCEPTED: Answer(what="The job.", body=RedriveJob, has_location=True)},
    problems=["bad_request", "unsupported_media_type", "invalid_request", "unavailable"],
    examples=[
        Example(
            name="recently discarded tasks",
            status=HTTPStatus.ACCEPTED,
            body={"reason": "discarded", "dead_after": SINCE, "rate_per_second": 0.1},
            answer=_RUNNING,
        )
    ],
)
LIST: Final = Operation(
    route="GET /v1/redrives",
    name="listRedriveJobs",
    summary="List redrive jobs",
    parameters=[LIMIT],
    answers={HTTPStatus.OK: Answer(what="Jobs.", body=RedriveJobs)},
    problems=["invalid_request", "unavailable"],
    examples=[
        Example(
            name="the latest job",
            status=HTTPStatus.OK,
            given={"limit": "1"},
            answer={"redrives": [_RUNNING]},
        )
    ],
)
READ: Final = Operation(
    route="GET /v1/redrives/{name}",
    name="readRedriveJob",
    summary="Read the progress of a redrive job",
    parameters=[_NAME],
    answers={HTTPStatus.OK: Answer(what="The job.", body=RedriveJob)},
    problems=["not_found", "unavailable"],
    examples=[Example(name="a job", status=HTTPStatus.OK, given=_THAT_ONE, answer=_RUNNING)],
)
STOP: Final = Operation(
    route="POST /v1/redrives/{name}/stop",
    name="stopRedriveJob",
    summary="Stop a redrive job",
    details="Tasks already redriven are not affected.",
    parameters=[_NAME],
    answers={HTTPStatus.OK: Answer(what="The job.", body=RedriveJob)},
    problems=["not_found", "already_finished", "unavailable"],
    examples=[Example(name="a job", status=HTTPStatus.OK, given=_THAT_ONE, answer=_STOPPED)],
)
RESUME: Final = Operation(
    route="POST /v1/redrives/{name}/resume",
    name="resumeRedriveJob",
    summary="Resume a redrive job that paused or was stopped",
    parameters=[_NAME],
    answers={HTTPStatus.ACCEPTED: Answer(what="The job.", body=RedriveJob, has_location=True)},
    problems=["not_found", "already_finished", "another_job_lives", "unavailable"],
    examples=[Example(name="a job", status=HTTPStatus.ACCEPTED, given=_THAT_ONE, answer=_RUNNING)],
)
OPERATIONS: Final = (MAKE, LIST, READ, STOP, RESUME)
