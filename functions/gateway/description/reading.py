"""Describes how tasks are shown."""

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
from functions.gateway.description.parameters import CURSOR, LIMIT, TASK_ID, asked
from functions.gateway.description.reasons import Reason
from functions.gateway.http.parameters import LONGEST_WAIT_SECONDS
from taskmill.core.task import Status
from taskmill.submission.request import IdempotencyKey


class TaskPage(Struct):
    """Tasks of the ledger, which hears of them a moment after they happen."""

    tasks: list[ListedTask]
    next_cursor: NextCursor
    as_of: AsOf


LIST: Final = Operation(
    route="GET /v1/tasks",
    name="listTasks",
    summary="List tasks, the newest first",
    details="With `status=dead`, the latest death first. A first page waits up to 1.5 seconds, or"
    " as long as `wait` says, until the ledger has heard of everything that was accepted before the"
    " request; after that it shows what the ledger knows, and `as_of` says up to when.",
    parameters=[
        asked("type", str, "Only of this type."),
        asked(
            "idempotency_key",
            IdempotencyKey,
            "Only the task of this key; needs `type`, and takes nothing else. It is as it is now,"
            " as when it is read by its id.",
        ),
        asked("status", Status, "Only in this status."),
        asked(
            "metadata",
            dict[Annotated[str, Meta(pattern=r"^metadata\..+")], str],
            "Only with this entry: `metadata.<name>=<value>`.",
        ),
        asked("created_after", Moment, "Only later ones."),
        asked("created_before", Moment, "Only earlier ones."),
        asked("reason", Reason, "Only the dead with this reason; needs `status=dead`."),
        asked("error_class", str, "Only the dead with an error of this class, likewise."),
        asked("dead_after", Moment, "Only those that died later, likewise."),
        asked("dead_before", Moment, "Only those that died earlier, likewise."),
        asked(
            "wait",
            Annotated[float, Meta(ge=0, le=LONGEST_WAIT_SECONDS)],
            "Wait at most so many seconds until the ledger has caught up; no exponent.",
        ),
        LIMIT,
        CURSOR,
    ],
    answers={HTTPStatus.OK: Answer(what="A page.", body=TaskPage)},
    problems=["bad_request", "invalid_request", "enqueue_refused", "unavailable"],
    examples=[
        Example(
            name="what succeeded",
            status=HTTPStatus.OK,
            given={"status": "succeeded", "type": "echo"},
            answer={
                "tasks": [SUCCEEDED],
                "next_cursor": None,
                "as_of": "2026-11-06T21:20:01.000Z",
            },
        ),
        Example(
            name="the task of a key",
            status=HTTPStatus.OK,
            given={"type": "echo", "idempotency_key": KEY},
            answer={
                "tasks": [SUCCEEDED | {"idempotency_key": KEY}],
                "next_cursor": None,
                "as_of": None,
            },
        ),
        Example(
            name="what was discarded",
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
    summary="Read a task, at once or when it has ended",
    details="The payload comes from the ledger: a request for it waits up to 1.5 seconds, or for"
    " the rest of `wait`, until the ledger has heard of the task.",
    parameters=[
        TASK_ID,
        asked(
            "wait",
            Annotated[float, Meta(ge=0, le=LONGEST_WAIT_SECONDS)],
            "Hold the answer until the task has ended, at most so many seconds; no exponent.",
        ),
        asked("include", Literal["payload"], "Tell the payload too."),
    ],
    answers={HTTPStatus.OK: Answer(what="The task.", body=ReadTask)},
    problems=["invalid_request", "not_found", "enqueue_refused", "unavailable"],
    examples=[
        Example(
            name="wait for its end",
            status=HTTPStatus.OK,
            given={"task_id": ID, "wait": "20"},
            answer=SUCCEEDED,
        ),
        Example(
            name="with its payload",
            status=HTTPStatus.OK,
            given={"task_id": ID, "include": "payload"},
            answer=SUCCEEDED | {"payload": {"say": "hello"}},
        ),
    ],
)
OPERATIONS: Final = (LIST, READ)
