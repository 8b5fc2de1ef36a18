"""Describes enqueued requests that have not become tasks."""

from http import HTTPStatus
from typing import Any, Final, Literal
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

from functions.gateway.description.answers import Count, Moment, NextCursor
from functions.gateway.description.operation import Answer, Example, Operation
from functions.gateway.description.parameters import CURSOR, LIMIT, TASK_ID, query_parameter

REFUSED_ID: Final = "5e9a4bd0-5f3c-8f11-9d0c-2f6a1c8f7b21"


class EnqueuedRequest(Struct, kw_only=True):
    """A request in the table; a parked one has the reason why it was refused."""

    task_id: UUID
    tenant: str
    enqueued_at: Moment
    size: Count
    parked_at: Moment | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    detail: str | UnsetType = UNSET
    field: str | UnsetType = UNSET
    discarded_at: Moment | UnsetType = UNSET
    discarded_by: str | UnsetType = UNSET


class EnqueuedPage(Struct):
    """Latest first."""

    requests: list[EnqueuedRequest]
    next_cursor: NextCursor


_REQUEST: Final[dict[str, Any]] = {
    "task_id": REFUSED_ID,
    "tenant": "default",
    "enqueued_at": "2026-11-06T21:20:00.000Z",
    "size": 42,
    "parked_at": "2026-11-06T21:20:00.150Z",
    "reason": "invalid_request",
    "detail": "Expected `int` >= 1",
    "field": "/max_attempts",
}

LIST: Final = Operation(
    route="GET /v1/enqueued",
    name="listEnqueued",
    summary="List enqueued requests that have not become tasks",
    details=(
        "`taskmill.enqueue` and schedules write requests to a table. This lists those that were"
        " committed but are still waiting or were refused."
    ),
    parameters=[
        query_parameter(
            "state",
            Literal["waiting", "parked", "discarded"],
            "Requests that wait to become tasks, refused requests (the default), or refused"
            " requests that somebody has dealt with.",
        ),
        LIMIT,
        CURSOR,
    ],
    answers={HTTPStatus.OK: Answer(what="A page.", body=EnqueuedPage)},
    problems=["bad_request", "invalid_request", "unavailable"],
    examples=[
        Example(
            name="refused requests",
            status=HTTPStatus.OK,
            given={"state": "parked"},
            answer={"requests": [_REQUEST], "next_cursor": None},
        )
    ],
)
DISCARD: Final = Operation(
    route="POST /v1/enqueued/{task_id}/discard",
    name="discardEnqueued",
    summary="Mark a refused request as dealt with",
    details=(
        "Every refused request for this task is kept and marked with the time and the name of the"
        " caller's key. `taskmill doctor` and the statistics no longer count it."
    ),
    parameters=[TASK_ID],
    answers={HTTPStatus.OK: Answer(what="The latest refused request.", body=EnqueuedRequest)},
    problems=["not_found", "unavailable"],
    examples=[
        Example(
            name="a request",
            status=HTTPStatus.OK,
            given={"task_id": REFUSED_ID},
            answer=_REQUEST
            | {"discarded_at": "2026-11-06T21:30:00.000Z", "discarded_by": "anybody"},
        )
    ],
)
OPERATIONS: Final = (LIST, DISCARD)
