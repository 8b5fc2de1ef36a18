"""Describes how to cancel, redrive and change a task."""

from http import HTTPStatus
from typing import Any, Final

from functions.gateway.description.answers import Task
from functions.gateway.description.examples import DEAD_ID, QUEUED
from functions.gateway.description.operation import Answer, Example, Operation
from functions.gateway.description.parameters import TASK_ID
from functions.gateway.orders import ChangeRequest

WAITING_ID: Final = "019f4a6b-3e4f-7051-8c6d-7e8f9a0b1c2d"
PUT_OFF_ID: Final = "019f4a6b-6a61-7284-8f90-a1b2c3d4e5f6"
RUNNING_ID: Final = "019f4a6b-4f50-7162-9d7e-8f9a0b1c2d3e"

_CANCELLED: Final[dict[str, Any]] = QUEUED | {
    "id": WAITING_ID,
    "status": "cancelled",
    "attempt": 2,
    "payload_size": 19,
    "started_at": "2026-11-06T21:20:00.140Z",
    "wait_ms": 17,
    "finished_at": "2026-11-06T21:20:10.000Z",
    "duration_ms": 9860,
}
_ASKED_TO_END: Final[dict[str, Any]] = QUEUED | {
    "id": RUNNING_ID,
    "status": "running",
    "payload_size": 19,
    "started_at": "2026-11-06T21:20:00.140Z",
    "wait_ms": 17,
    "cancel_requested": True,
}
_PUT_OFF: Final[dict[str, Any]] = QUEUED | {
    "id": PUT_OFF_ID,
    "status": "scheduled",
    "run_at": "2026-11-06T22:20:10.000Z",
}
_NEXT_LIFE: Final[dict[str, Any]] = QUEUED | {"id": DEAD_ID, "payload_size": 19}

CANCEL: Final = Operation(
    route="POST /v1/tasks/{task_id}/cancel",
    name="cancelTask",
    summary="Cancel a task",
    details="A waiting task ends at once. The worker of a running task is asked to stop, but may"
    " still finish. Repeating the request returns the same response.",
    parameters=[TASK_ID],
    answers={
        HTTPStatus.OK: Answer(what="The task was waiting and is now cancelled.", body=Task),
        HTTPStatus.ACCEPTED: Answer(
            what="The task is running and was asked to stop.", body=Task, has_location=True
        ),
    },
    problems=["not_found", "enqueue_refused", "already_finished", "unavailable"],
    examples=[
        Example(
            name="a waiting task",
            status=HTTPStatus.OK,
            given={"task_id": WAITING_ID},
            answer=_CANCELLED,
        ),
        Example(
            name="a running task",
            status=HTTPStatus.ACCEPTED,
            given={"task_id": RUNNING_ID},
            answer=_ASKED_TO_END,
        ),
    ],
)
REDRIVE: Final = Operation(
    route="POST /v1/tasks/{task_id}/redrive",
    name="redriveTask",
    summary="Redrive a dead or cancelled task as its next generation",
    details="Repeating the request before that generation ends returns the same generation.",
    parameters=[TASK_ID],
    answers={
        HTTPStatus.ACCEPTED: Answer(what="The task runs again.", body=Task, has_location=True)
    },
    problems=["not_found", "enqueue_refused", "not_redrivable", "unavailable"],
    examples=[
        Example(
            name="a dead task",
            status=HTTPStatus.ACCEPTED,
            given={"task_id": DEAD_ID},
            answer=_NEXT_LIFE,
        )
    ],
)
CHANGE: Final = Operation(
    route="PATCH /v1/tasks/{task_id}",
    name="changeTask",
    summary="Change the time, the priority or the metadata of a waiting task",
    details="The task becomes `scheduled`, even if it was queued or waiting for its next attempt."
    " Without a new time it keeps the one for which it waits, and its place among waiting tasks.",
    parameters=[TASK_ID],
    takes=ChangeRequest,
    answers={HTTPStatus.OK: Answer(what="The changed task.", body=Task)},
    problems=[
        "not_found",
        "enqueue_refused",
        "not_waiting",
        "bad_request",
        "unsupported_media_type",
        "invalid_request",
        "unavailable",
    ],
    examples=[
        Example(
            name="postpone a waiting task",
            status=HTTPStatus.OK,
            given={"task_id": PUT_OFF_ID},
            body={"delay_seconds": 3600},
            answer=_PUT_OFF,
        )
    ],
)
OPERATIONS: Final = (CANCEL, REDRIVE, CHANGE)
