"""Describes the requests that were enqueued and are no tasks."""

from http import HTTPStatus
from typing import Any, Final, Literal
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

from functions.gateway.description.answers import Count, Moment, NextCursor
from functions.gateway.description.operation import Answer, Example, Operation
from functions.gateway.description.parameters import CURSOR, LIMIT, TASK_ID, asked

REFUSED_ID: Final = "5e9a4bd0-5f3c-8f11-9d0c-2f6a1c8f7b21"


class EnqueuedRequest(Struct, kw_only=True):
    """A request that stands in the table; one that is parked tells why it is refused."""

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
    """The latest first."""

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
    summary="List requests that were enqueued and are no tasks",
    details=(
        "`taskmill.enqueue` and schedules keep requests in a table. Here are those that were"
        " committed and are refused, or wait."
    ),
    parameters=[
        asked(
            "state",
            Literal["waiting", "parked", "discarded"],
            "Those that wait to become tasks, those that are refused (the default), or those"
            " refused ones that somebody dealt with.",
        ),
        LIMIT,
        CURSOR,
    ],
    answers={HTTPStatus.OK: Answer(what="A page.", body=EnqueuedPage)},
    problems=["bad_request", "invalid_request", "unavailable"],
    examples=[
        Example(
            name="what is refused",
            status=HTTPStatus.OK,
            given={"state": "parked"},
            answer={"requests": [_REQUEST], "next_cursor": None},
        )
    ],
)
DISCARD: Final = Operation(
    route="POST /v1/enqueued/{task_id}/discard",
    name="discardEnqueued",
    summary="Take note that a refused request was dealt with",
    details=(
        "Every refused request for this task is kept, and marked with the time and the name of the"
        " caller's key. `taskmill doctor` and the statistics no longer count it."
    ),
    parameters=[TASK_ID],
    answers={
        HTTPStatus.OK: Answer(what="The request that was refused last.", body=EnqueuedRequest)
    },
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
