"""How a task looks in answers; tests hold every answer of the gateway to it."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from msgspec import UNSET, Meta, Struct, UnsetType

from functions.gateway.description.reasons import Reason
from functions.gateway.http.problem import ProblemType
from taskmill.core.task import Status

Moment = Annotated[datetime, Meta(tz=True)]
Count = Annotated[int, Meta(ge=0)]


class TaskError(Struct, kw_only=True, rename={"kind": "class"}):
    """What the worker said, or what the platform said of it; without what looks like a secret."""

    kind: str
    message: str
    stack: (
        Annotated[str, Meta(description="Where the worker's code raised: its frames, no values.")]
        | UnsetType
    ) = UNSET


class Pointer(Struct, kw_only=True):
    """Where something large stands."""

    url: Annotated[str, Meta(description="As `s3://bucket/key`.")]
    size: Annotated[Count, Meta(description="Bytes.")]
    sha256: Annotated[str, Meta(description="In hex.")]


class LinkedPointer(Pointer, kw_only=True):
    """Where something large stands, and how it is fetched."""

    download_url: (
        Annotated[str, Meta(description="Fetches it without a key, for a quarter of an hour.")]
        | UnsetType
    ) = UNSET


class Task(Struct, kw_only=True):
    """A task as it is now. Fields may be added: leave alone what you do not know."""

    id: UUID
    type: str
    tenant: str
    status: Status
    attempt: Annotated[int, Meta(ge=1, description="The attempt that runs, or ran last.")]
    max_attempts: Annotated[int, Meta(ge=1)]
    losses: Annotated[Count, Meta(description="Attempts whose process ended before they did.")]
    generation: Annotated[Count, Meta(description="Which of its lives this is.")]
    created_at: Moment
    metadata: dict[str, str]
    payload_size: Annotated[Count, Meta(description="Bytes.")]
    payload_ref: LinkedPointer | UnsetType = UNSET
    idempotency_key: str | UnsetType = UNSET
    run_at: (
        Annotated[Moment, Meta(description="When it may begin, if that was asked for.")] | UnsetType
    ) = UNSET
    expires_at: Moment | UnsetType = UNSET
    started_at: Moment | UnsetType = UNSET
    wait_ms: (
        Annotated[Count, Meta(description="From when it might begin to its first start.")]
        | UnsetType
    ) = UNSET
    cancel_requested: Literal[True] | UnsetType = UNSET
    next_attempt_at: Moment | UnsetType = UNSET
    finished_at: Moment | UnsetType = UNSET
    duration_ms: Count | UnsetType = UNSET
    result: Annotated[Any, Meta(description="What its worker returned.")] = UNSET
    result_ref: LinkedPointer | UnsetType = UNSET
    reason: Reason | UnsetType = UNSET
    error: TaskError | UnsetType = UNSET


class SubmittedTask(Task, kw_only=True):
    """A task that was just taken, or that of an earlier request, as it is now."""

    replayed: (
        Annotated[Literal[True], Meta(description="The same request came before.")] | UnsetType
    ) = UNSET
    dedupe: (
        Annotated[
            Literal["deferred"],
            Meta(description="Redis could not be asked: whether its key is free is seen later."),
        ]
        | UnsetType
    ) = UNSET


class ReadTask(Task, kw_only=True):
    """A task, with its payload where that was asked for."""

    payload: Any = UNSET


class ListedTask(Task, kw_only=True):
    """A task of a list; the dead also tell when they failed."""

    first_failed_at: Moment | UnsetType = UNSET
    last_failed_at: Moment | UnsetType = UNSET


NextCursor = Annotated[str, Meta(description="Asks for the next page; null on the last.")] | None
AsOf = Annotated[Moment, Meta(description="What happened before is in it.")] | None


class Problem(Struct):
    """A refusal; `type` is a stable word, `field` a JSON pointer or the name of a parameter."""

    type: ProblemType
    title: str
    status: int
    detail: str
    field: str | UnsetType = UNSET
