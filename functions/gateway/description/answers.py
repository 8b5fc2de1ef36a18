"""How a task appears in responses; tests check every response of the gateway against it."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from msgspec import UNSET, Meta, Struct, UnsetType

from functions.gateway.description.reasons import Reason
from functions.gateway.http.problem import ProblemType
from taskmill.core.task import PriorityName, Status

Moment = Annotated[datetime, Meta(tz=True)]
Count = Annotated[int, Meta(ge=0)]


class TaskError(Struct, kw_only=True, rename={"kind": "class"}):
    """The worker's or the platform's error message, with likely secrets removed."""

    kind: str
    message: str
    stack: (
        Annotated[str, Meta(description="Stack frames of the worker's exception, without values.")]
        | UnsetType
    ) = UNSET


class Pointer(Struct, kw_only=True):
    """Where a large payload or result is stored."""

    url: Annotated[str, Meta(description="`s3://bucket/key`.")]
    size: Annotated[Count, Meta(description="Bytes.")]
    sha256: Annotated[str, Meta(description="In hexadecimal.")]


class LinkedPointer(Pointer, kw_only=True):
    """Where a large payload or result is stored, with a link to download it."""

    download_url: (
        Annotated[str, Meta(description="Downloads it without an API key; valid for 15 minutes.")]
        | UnsetType
    ) = UNSET


class Task(Struct, kw_only=True):
    """The current state of a task. Fields may be added: ignore those that you do not know."""

    id: UUID
    type: str
    tenant: str
    status: Status
    attempt: Annotated[int, Meta(ge=1, description="The current or latest attempt.")]
    max_attempts: Annotated[int, Meta(ge=1)]
    losses: Annotated[Count, Meta(description="Attempts whose process ended before they finished.")]
    generation: Annotated[
        Count,
        Meta(
            description="Identifies the current life of the task; each"
            " redrive gets a higher number."
        ),
    ]
    created_at: Moment
    metadata: dict[str, str]
    priority: PriorityName
    payload_size: Annotated[Count, Meta(description="Bytes.")]
    payload_ref: LinkedPointer | UnsetType = UNSET
    idempotency_key: str | UnsetType = UNSET
    fairness_key: str | UnsetType = UNSET
    run_at: (
        Annotated[Moment, Meta(description="When it may start, if the request set a time.")]
        | UnsetType
    ) = UNSET
    expires_at: Moment | UnsetType = UNSET
    started_at: Moment | UnsetType = UNSET
    wait_ms: (
        Annotated[
            Count, Meta(description="Milliseconds from when it could start to its first start.")
        ]
        | UnsetType
    ) = UNSET
    cancel_requested: Literal[True] | UnsetType = UNSET
    next_attempt_at: Moment | UnsetType = UNSET
    finished_at: Moment | UnsetType = UNSET
    duration_ms: Count | UnsetType = UNSET
    result: Annotated[Any, Meta(description="The value that its worker returned.")] = UNSET
    result_ref: LinkedPointer | UnsetType = UNSET
    reason: Reason | UnsetType = UNSET
    error: TaskError | UnsetType = UNSET


class SubmittedTask(Task, kw_only=True):
    """A task that was just created, or the current state of the one from an earlier request."""

    replayed: (
        Annotated[Literal[True], Meta(description="An identical request was accepted before.")]
        | UnsetType
    ) = UNSET
    dedupe: (
        Annotated[
            Literal["deferred"],
            Meta(
                description="Redis was unavailable; whether the idempotency key is free is"
                " checked later."
            ),
        ]
        | UnsetType
    ) = UNSET


class ReadTask(Task, kw_only=True):
    """A task, with its payload if requested."""

    payload: Any = UNSET


class ListedTask(Task, kw_only=True):
    """A task in a list; a dead one has the time of its death."""

    first_failed_at: Moment | UnsetType = UNSET
    last_failed_at: Moment | UnsetType = UNSET


NextCursor = (
    Annotated[str, Meta(description="Cursor of the next page; null on the last page.")] | None
)
AsOf = Annotated[Moment, Meta(description="The list includes everything up to this time.")] | None


class Problem(Struct):
    """A refusal; `type` is stable, and `field` is a JSON pointer or the name of a parameter."""

    type: ProblemType
    title: str
    status: int
    detail: str
    field: str | UnsetType = UNSET
