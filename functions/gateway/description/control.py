"""Describes how a task is cancelled, redriven and changed."""

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
    details="At once while it waits; while it runs its worker is asked, and may finish. The second"
    " time the answer is the same.",
    parameters=[TASK_ID],
    answers={
        HTTPStatus.OK: Answer(what="It waited, and is over.", body=Task),
        HTTPStatus.ACCEPTED: Answer(
            what="It runs, and is asked to end.", body=Task, has_location=True
        ),
    },
    problems=["not_found", "enqueue_refused", "already_finished", "unavailable"],
    examples=[
        Example(
            name="a task that waits",
            status=HTTPStatus.OK,
            given={"task_id": WAITING_ID},
            answer=_CANCELLED,
        ),
        Example(
            name="a task that runs",
            status=HTTPStatus.ACCEPTED,
            given={"task_id": RUNNING_ID},
            answer=_ASKED_TO_END,
        ),
    ],
)
REDRIVE: Final = Operation(
    route="POST /v1/tasks/{task_id}/redrive",
    name="redriveTask",
    summary="Give a dead or cancelled task its next generation",
    details="Repeated while that lives, it is the same generation.",
    parameters=[TASK_ID],
    answers={HTTPStatus.ACCEPTED: Answer(what="It lives again.", body=Task, has_location=True)},
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
    summary="Give a task that waits another time or other metadata",
    details="It is then `scheduled`, also when it stood in line or waited for its next attempt.",
    parameters=[TASK_ID],
    takes=ChangeRequest,
    answers={HTTPStatus.OK: Answer(what="It waits for that.", body=Task)},
    problems=[
        "not_found",
        "enqueue_refused",
        "not_waiting",
        "bad_request",
        "unsupported_media_type",
        "invalid_request",
        "not_supported_yet",
        "unavailable",
    ],
    examples=[
        Example(
            name="a task that waits is put off",
            status=HTTPStatus.OK,
            given={"task_id": PUT_OFF_ID},
            body={"delay_seconds": 3600},
            answer=_PUT_OFF,
        )
    ],
)
OPERATIONS: Final = (CANCEL, REDRIVE, CHANGE)
