"""Describes how to submit tasks."""

from http import HTTPStatus
from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from functions.gateway.description.answers import Count, Problem, SubmittedTask
from functions.gateway.description.examples import ASKED, KEY, MISFIT, QUEUED, SUCCEEDED
from functions.gateway.description.operation import Answer, Example, Operation, Parameter
from functions.gateway.http.problem import ProblemType
from functions.gateway.submitting import BATCH_TASKS
from taskmill.submission.request import HeaderKey, TaskRequest

_OF_ONE_TASK: Final[tuple[ProblemType, ...]] = (
    "unknown_type",
    "invalid_payload",
    "invalid_request",
    "not_supported_yet",
    "idempotency_key_reused",
    "payload_conflict",
    "payload_missing",
    "payload_too_large",
    "unavailable",
)


class BatchRequest(Struct, forbid_unknown_fields=True):
    """Several tasks; an invalid one is refused without affecting the others."""

    tasks: Annotated[list[TaskRequest], Meta(min_length=1, max_length=BATCH_TASKS)]


class BatchItem(Struct, kw_only=True):
    """The result for one task of a batch, identified by its index."""

    index: Count
    status: int
    task: SubmittedTask | UnsetType = UNSET
    error: Problem | UnsetType = UNSET


class BatchAnswer(Struct):
    """One result for each task, in the same order."""

    results: list[BatchItem]
    accepted: Count
    refused: Count


SUBMIT: Final = Operation(
    route="POST /v1/tasks",
    name="submitTask",
    summary="Submit a task",
    details="A 202 is a promise: the task is stored and will reach an end that can be explained."
    " With an idempotency key, in the body or in the header, a request can be repeated safely.",
    parameters=[
        Parameter(
            name="Idempotency-Key",
            place="header",
            type=HeaderKey,
            what="Same as `idempotency_key` in the body, except that commas are not allowed.",
        )
    ],
    takes=TaskRequest,
    answers={
        HTTPStatus.ACCEPTED: Answer(
            what="The task was accepted.", body=SubmittedTask, has_location=True
        ),
        HTTPStatus.OK: Answer(what="An identical request was accepted before.", body=SubmittedTask),
    },
    problems=["bad_request", "unsupported_media_type", *_OF_ONE_TASK],
    examples=[
        Example(name="a task", status=HTTPStatus.ACCEPTED, body=ASKED, answer=QUEUED),
        Example(
            name="a task with a key",
            status=HTTPStatus.ACCEPTED,
            body=ASKED | {"idempotency_key": KEY},
            answer=QUEUED | {"idempotency_key": KEY},
        ),
        Example(
            name="a repeated request, with the key in the header",
            status=HTTPStatus.OK,
            given={"Idempotency-Key": KEY},
            body=ASKED,
            answer=SUCCEEDED | {"idempotency_key": KEY, "replayed": True},
        ),
        Example(
            name="a payload that does not fit the type",
            status=HTTPStatus.UNPROCESSABLE_ENTITY,
            body={"type": "echo", "payload": {"sleep_seconds": -1}},
            answer=MISFIT,
        ),
    ],
)
BATCH: Final = Operation(
    route="POST /v1/tasks/batch",
    name="submitBatch",
    summary="Submit up to a thousand tasks",
    details="One invalid item does not fail the others: each has its own status. An item that no"
    " store could accept has status 503; repeat it. A batch has no key of its own: the header"
    " `Idempotency-Key` is refused; set keys in the tasks instead.",
    takes=BatchRequest,
    answers={HTTPStatus.OK: Answer(what="One result for each task.", body=BatchAnswer)},
    problems=["bad_request", "unsupported_media_type", "request_too_large", "invalid_request"],
    examples=[
        Example(
            name="one valid and one invalid task",
            status=HTTPStatus.OK,
            body={"tasks": [ASKED, {"type": "echo", "payload": {"sleep_seconds": -1}}]},
            answer={
                "results": [
                    {"index": 0, "status": 202, "task": QUEUED},
                    {"index": 1, "status": 422, "error": MISFIT},
                ],
                "accepted": 1,
                "refused": 1,
            },
        )
    ],
)
OPERATIONS: Final = (SUBMIT, BATCH)
