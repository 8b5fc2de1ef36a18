"""Describes how tasks are submitted."""

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
    """Many tasks; what is wrong with one refuses that one."""

    tasks: Annotated[list[TaskRequest], Meta(min_length=1, max_length=BATCH_TASKS)]


class BatchItem(Struct, kw_only=True):
    """What became of one task of a batch, by its index there."""

    index: Count
    status: int
    task: SubmittedTask | UnsetType = UNSET
    error: Problem | UnsetType = UNSET


class BatchAnswer(Struct):
    """A result for each task, in their order."""

    results: list[BatchItem]
    accepted: Count
    refused: Count


SUBMIT: Final = Operation(
    route="POST /v1/tasks",
    name="submitTask",
    summary="Submit a task",
    details="A 202 is a promise: the task is kept, and comes to an end that can be explained."
    " With an idempotency key, in the body or in the header, a request can be repeated safely.",
    parameters=[
        Parameter(
            name="Idempotency-Key",
            place="header",
            type=HeaderKey,
            what="The same as `idempotency_key` in the body, but for commas.",
        )
    ],
    takes=TaskRequest,
    answers={
        HTTPStatus.ACCEPTED: Answer(what="It is taken.", body=SubmittedTask, has_location=True),
        HTTPStatus.OK: Answer(what="The same request came before.", body=SubmittedTask),
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
            name="a repetition, its key in the header",
            status=HTTPStatus.OK,
            given={"Idempotency-Key": KEY},
            body=ASKED,
            answer=SUCCEEDED | {"idempotency_key": KEY, "replayed": True},
        ),
        Example(
            name="a payload that does not fit",
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
    details="One bad item does not fail the rest: each has a status of its own. An item that no"
    " store could take says 503, and is to be repeated. A batch has no key of its own: the header"
    " `Idempotency-Key` is refused, and keys stand in its tasks.",
    takes=BatchRequest,
    answers={HTTPStatus.OK: Answer(what="What became of each.", body=BatchAnswer)},
    problems=["bad_request", "unsupported_media_type", "request_too_large", "invalid_request"],
    examples=[
        Example(
            name="one good and one bad",
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
