"""Describes pauses of types and of everything."""

from http import HTTPStatus
from typing import Annotated, Any, Final, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from functions.gateway.description.answers import Moment
from functions.gateway.description.operation import Answer, Example, Operation, Parameter
from functions.gateway.pauses import PauseRequest


class Pause(Struct, kw_only=True):
    """Tasks are accepted and keep their places in line, but none starts."""

    id: Annotated[str, Meta(description="`type:` and the type, or `all`.")]
    type: Annotated[str, Meta(description="Without it, every type is paused.")] | UnsetType = UNSET
    until: (
        Annotated[Moment, Meta(description="Without it, the pause lasts until it is resumed.")]
        | UnsetType
    ) = UNSET
    reason: str | UnsetType = UNSET
    by: Annotated[str, Meta(description="The name of the API key that paused it.")]
    at: Annotated[Moment, Meta(description="When it was paused.")]


class ChangedPause(Pause, kw_only=True):
    """A pause that was made or ended."""

    lanes: (
        Annotated[
            Literal["deferred"],
            Meta(
                description="Redis was unavailable: the change takes effect about a second after"
                " Redis is back."
            ),
        ]
        | UnsetType
    ) = UNSET


class Pauses(Struct):
    """Those in force: that of everything first, then by type."""

    pauses: list[Pause]


_MADE: Final[dict[str, Any]] = {
    "id": "type:echo",
    "type": "echo",
    "reason": "its database is being migrated",
    "by": "anybody",
    "at": "2026-11-06T21:20:00.123Z",
}
_UNTIL: Final = _MADE | {"until": "2026-11-06T21:30:00.123Z"}
_ID: Final = Parameter(
    name="id", place="path", type=str, what="The id of a pause, such as `type:echo` or `all`."
)

MAKE: Final = Operation(
    route="POST /v1/pauses",
    name="makePause",
    summary="Pause a type, or everything",
    details="Running tasks finish, waiting ones keep their places, and new ones are accepted. A new"
    " pause replaces that of the same type. A type is paused while there is a pause of its own or"
    " one of everything.",
    takes=PauseRequest,
    answers={
        HTTPStatus.CREATED: Answer(what="It is paused.", body=ChangedPause),
        HTTPStatus.OK: Answer(what="It was paused before; this pause counts.", body=ChangedPause),
    },
    problems=[
        "bad_request",
        "unsupported_media_type",
        "invalid_request",
        "unknown_type",
        "unavailable",
    ],
    examples=[
        Example(
            name="a type",
            status=HTTPStatus.CREATED,
            body={"type": "echo", "reason": "its database is being migrated"},
            answer=_MADE,
        ),
        Example(
            name="the same type, for ten minutes",
            status=HTTPStatus.OK,
            body={"type": "echo", "seconds": 600, "reason": "its database is being migrated"},
            answer=_UNTIL,
        ),
    ],
)
LIST: Final = Operation(
    route="GET /v1/pauses",
    name="listPauses",
    summary="List the pauses in force",
    answers={HTTPStatus.OK: Answer(what="All of them.", body=Pauses)},
    problems=["unavailable"],
    examples=[
        Example(name="one pause", status=HTTPStatus.OK, answer={"pauses": [_UNTIL]}),
    ],
)
RESUME: Final = Operation(
    route="DELETE /v1/pauses/{id}",
    name="endPause",
    summary="Resume a type, or everything",
    details="The pause of a type outlasts that of everything, and the other way round.",
    parameters=[_ID],
    answers={HTTPStatus.OK: Answer(what="The pause that has ended.", body=ChangedPause)},
    problems=["not_found", "unavailable"],
    examples=[
        Example(name="a type", status=HTTPStatus.OK, given={"id": "type:echo"}, answer=_UNTIL)
    ],
)
OPERATIONS: Final = (MAKE, LIST, RESUME)
