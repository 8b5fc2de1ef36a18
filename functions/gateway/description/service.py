"""Describes the service itself: types, statistics, health."""

from http import HTTPStatus
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct

from functions.gateway.description.answers import AsOf, Count
from functions.gateway.description.operation import Answer, Example, Operation
from functions.gateway.description.type_states import A_BUSY_TYPE, TypeNow
from taskmill import __version__
from taskmill.core.task import PriorityName, Status
from taskmill.submission.catalogue import TypeDefaults


class TypeLimits(Struct):
    """Upper limits for tasks of the type."""

    timeout_seconds: float


class Type(Struct):
    """A deployed type: its payload schema, the defaults for its tasks, and its present state."""

    name: str
    title: str
    schema: Annotated[dict[str, Any], Meta(description="JSON Schema of the payload.")]
    defaults: TypeDefaults
    limits: TypeLimits
    now: TypeNow


class Types(Struct):
    """Every deployed type."""

    types: list[Type]


class LastMinute(Struct):
    """Events in the minute before `as_of`."""

    submitted: Count
    succeeded: Count
    retried: Count
    died: Count
    cancelled: Count
    lost: Count


class TypeFigures(Struct):
    """The ledger's view of a type's unfinished tasks, and what its lane holds now.

    A scheduled task counts as in line once its time has come; its status changes when it starts.
    """

    depth: Annotated[dict[Status, Count], Meta(description="By status.")]
    priorities: Annotated[
        dict[PriorityName, dict[Status, Count]], Meta(description="By priority, then by status.")
    ]
    in_line: Annotated[Count, Meta(description="By the ledger, as of `as_of`.")]
    oldest_wait_seconds: Annotated[
        float | None, Meta(description="By the ledger; `now` has that of the lane.")
    ]
    now: Annotated[TypeNow | None, Meta(description="Null for a type that is not deployed.")]
    last_minute: LastMinute


class EnqueuedFigures(Struct):
    """Enqueued requests that are not tasks yet, or never will be; counted up to 50,000."""

    waiting: Count
    oldest_wait_seconds: float | None
    parked: Count


class OutboxFigures(Struct):
    """Tasks accepted while Kafka was unavailable that wait for it, or that it will never accept."""

    waiting: Count
    parked: Count


class Statistics(Struct):
    """Queue lengths, waiting times and throughput."""

    as_of: AsOf
    types: Annotated[
        dict[str, TypeFigures],
        Meta(description="`other`: tasks of types that are not deployed."),
    ]
    in_flight: Count
    enqueued: EnqueuedFigures
    outbox: OutboxFigures
    is_complete: Annotated[bool, Meta(description="False: the figures are lower bounds.")]
    last_minute: LastMinute
    lag: Annotated[
        dict[str, Count],
        Meta(
            description="Log records that a function has yet to read; workers take from their"
            " lanes."
        ),
    ]


class Health(Struct):
    """The process is healthy."""

    status: Literal["ok"]
    version: Annotated[str, Meta(description="The deployed version of taskmill.")]


class Readiness(Struct):
    """Every store that the API needs is available, and tasks can run."""

    status: Literal["ready"]


_LAST_MINUTE: Final = {
    "submitted": 7,
    "succeeded": 4,
    "retried": 0,
    "died": 0,
    "cancelled": 0,
    "lost": 0,
}
_STATISTICS: Final = {
    "as_of": "2026-11-06T21:20:00.000Z",
    "types": {
        "echo": {
            "depth": {"queued": 3, "running": 2},
            "priorities": {"normal": {"queued": 3, "running": 2}},
            "in_line": 3,
            "oldest_wait_seconds": 0.25,
            "now": A_BUSY_TYPE,
            "last_minute": _LAST_MINUTE,
        }
    },
    "in_flight": 2,
    "is_complete": True,
    "enqueued": {"waiting": 0, "oldest_wait_seconds": None, "parked": 0},
    "outbox": {"waiting": 0, "parked": 0},
    "last_minute": _LAST_MINUTE,
    "lag": {"dispatcher": 0},
}

TYPES: Final = Operation(
    route="GET /v1/types",
    name="listTypes",
    summary="List the deployed types, with their present state",
    details="The state comes from Redis and the ledger; without them the rest of the answer stays.",
    answers={HTTPStatus.OK: Answer(what="Types.", body=Types)},
)
STATISTICS: Final = Operation(
    route="GET /v1/stats",
    name="readStatistics",
    summary="Read queue lengths, waiting times and throughput",
    answers={HTTPStatus.OK: Answer(what="Statistics, a few seconds old.", body=Statistics)},
    problems=["unavailable"],
    examples=[Example(name="a small queue", status=HTTPStatus.OK, answer=_STATISTICS)],
)
HEALTH: Final = Operation(
    route="GET /healthz",
    name="readHealth",
    summary="Check that the process is healthy",
    answers={HTTPStatus.OK: Answer(what="The process is healthy.", body=Health)},
    examples=[
        Example(name="well", status=HTTPStatus.OK, answer={"status": "ok", "version": __version__})
    ],
    is_open=True,
)
READINESS: Final = Operation(
    route="GET /readyz",
    name="readReadiness",
    summary="Check that tasks can run",
    details=(
        "503 when a store cannot be reached, when Redis lost data and is not rebuilt yet, or when"
        " due tasks have waited for half a minute because no scheduler runs."
    ),
    answers={HTTPStatus.OK: Answer(what="Tasks can run.", body=Readiness)},
    problems=["unavailable"],
    examples=[Example(name="ready", status=HTTPStatus.OK, answer={"status": "ready"})],
)
DESCRIPTION: Final = Operation(
    route="GET /openapi.json",
    name="readDescription",
    summary="Read this description",
    answers={HTTPStatus.OK: Answer(what="OpenAPI 3.1.", body=dict[str, Any])},
)
OPERATIONS: Final = (TYPES, STATISTICS, HEALTH, READINESS, DESCRIPTION)
