"""Describes how tasks are read and listed."""

from http import HTTPStatus
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from functions.gateway.description.answers import (
    AsOf,
    ListedTask,
    Moment,
    NextCursor,
    ReadTask,
)
from functions.gateway.description.examples import DEAD, ID, KEY, SINCE, SUCCEEDED, UNTIL
from functions.gateway.description.operation import Answer, Example, Operation
from functions.gateway.description.parameters import CURSOR, LIMIT, TASK_ID, query_parameter
from functions.gateway.description.reasons import Reason
from functions.gateway.http.parameters import LONGEST_WAIT_SECONDS
from taskmill.core.task import Status
from taskmill.submission.request import IdempotencyKey


class TaskPage(Struct):
    """Tasks from the ledger, which learns of events shortly after they happen."""

    tasks: list[ListedTask]
    next_cursor: NextCursor
    as_of: AsOf


LIST: Final = Operation(
    route="GET /v1/tasks",
    name="listTasks",
    summary="List tasks, newest first",
    details="With `status=dead`, the latest death comes first. The first page waits up to 1.5"
    " seconds, or as long as `wait` allows, until the ledger has applied everything that was"
    " accepted before the request. If that takes longer, it shows what the ledger has so far;"
    " see `as_of`.",
    parameters=[
        query_parameter("type", str, "Only tasks of this type."),
        query_parameter(
            "idempotency_key",
            IdempotencyKey,
            "Only the task with this idempotency key; requires `type` and excludes all other"
            " filters. The task is as current as when it is read by its id.",
        ),
        query_parameter("status", Status, "Only tasks in this status."),
        query_parameter(
            "metadata",
            dict[Annotated[str, Meta(pattern=r"^metadata\..+")], str],
            "Only tasks with this metadata entry: `metadata.<name>=<value>`.",
        ),
        query_parameter("created_after", Moment, "Only tasks submitted after this time."),
        query_parameter("created_before", Moment, "Only tasks submitted before this time."),
        query_parameter(
            "reason", Reason, "Only dead tasks with this reason; requires `status=dead`."
        ),
        query_parameter(
            "error_class",
            str,
            "Only dead tasks with an error of this class; requires `status=dead`.",
        ),
        query_parameter(
            "dead_after", Moment, "Only tasks that died after this time; requires `status=dead`."
        ),
        query_parameter(
            "dead_before", Moment, "Only tasks that died before this time; requires `status=dead`."
        ),
        query_parameter(
            "wait",
            Annotated[float, Meta(ge=0, le=LONGEST_WAIT_SECONDS)],
            "Seconds to wait at most until the ledger has caught up; no exponent.",
        ),
        LIMIT,
        CURSOR,
    ],
    answers={HTTPStatus.OK: Answer(what="A page.", body=TaskPage)},
    problems=["bad_request", "invalid_request", "enqueue_refused", "unavailable"],
    examples=[
        Example(
            name="succeeded tasks",
            status=HTTPStatus.OK,
            given={"status": "succeeded", "type": "echo"},
            answer={
                "tasks": [SUCCEEDED],
                "next_cursor": None,
                "as_of": "2026-11-06T21:20:01.000Z",
            },
        ),
        Example(
            name="the task with a key",
            status=HTTPStatus.OK,
            given={"type": "echo", "idempotency_key": KEY},
            answer={
                "tasks": [SUCCEEDED | {"idempotency_key": KEY}],
                "next_cursor": None,
                "as_of": None,
            },
        ),
        Example(
            name="discarded tasks",
            status=HTTPStatus.OK,
            given={
                "status": "dead",
                "reason": "discarded",
                "error_class": "Discard",
                "created_after": SINCE,
                "created_before": UNTIL,
                "dead_after": SINCE,
                "dead_before": UNTIL,
            },
            answer={
                "tasks": [
                    DEAD
                    | {
                        "first_failed_at": "2026-11-06T21:20:00.141Z",
                        "last_failed_at": "2026-11-06T21:20:00.141Z",
                    }
                ],
                "next_cursor": None,
                "as_of": "2026-11-06T21:20:01.000Z",
            },
        ),
    ],
)
READ: Final = Operation(
    route="GET /v1/tasks/{task_id}",
    name="readTask",
    summary="Read a task at once or wait for its end",
    details="The payload comes from the ledger, so a request for it waits up to 1.5 seconds, or for"
    " the rest of `wait`, until the ledger has the task.",
    parameters=[
        TASK_ID,
        query_parameter(
            "wait",
            Annotated[float, Meta(ge=0, le=LONGEST_WAIT_SECONDS)],
            "Seconds to wait at most for the task to end; no exponent.",
        ),
        query_parameter("include", Literal["payload"], "Include the payload."),
    ],
    answers={HTTPStatus.OK: Answer(what="The task.", body=ReadTask)},
    problems=["invalid_request", "not_found", "enqueue_refused", "unavailable"],
    examples=[
        Example(
            name="wait for the end",
            status=HTTPStatus.OK,
            given={"task_id": ID, "wait": "20"},
            answer=SUCCEEDED,
        ),
        Example(
            name="with the payload",
            status=HTTPStatus.OK,
            given={"task_id": ID, "include": "payload"},
            answer=SUCCEEDED | {"payload": {"say": "hello"}},
        ),
    ],
)
OPERATIONS: Final = (LIST, READ)
