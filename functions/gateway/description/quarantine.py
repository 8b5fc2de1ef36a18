"""Describes the quarantine."""

from http import HTTPStatus
from typing import Any, Final, Literal

from msgspec import UNSET, Struct, UnsetType

from functions.gateway.description.answers import Count, Moment, NextCursor
from functions.gateway.description.operation import Answer, Example, Operation, Parameter
from functions.gateway.description.parameters import CURSOR, LIMIT, asked
from taskmill.core.topics import PENDING

RECORD: Final = f"{PENDING}:0:17:0"


class QuarantinedRecord(Struct, kw_only=True):
    """Where a record of the log stood that was never a task. What it holds may be secret."""

    id: str
    topic: str
    partition: Count
    offset: Count
    at: Moment
    reason: str
    size: Count
    header_names: list[str]
    discarded_at: Moment | UnsetType = UNSET
    discarded_by: str | UnsetType = UNSET


class OpenedRecord(QuarantinedRecord, kw_only=True):
    """The same with how its bytes begin."""

    value_base64: str
    headers_base64: dict[str, str]


class QuarantinePage(Struct):
    """The latest first."""

    records: list[QuarantinedRecord]
    next_cursor: NextCursor


_RECORD: Final[dict[str, Any]] = {
    "id": RECORD,
    "topic": PENDING,
    "partition": 0,
    "offset": 17,
    "at": "2026-11-06T21:20:00.000Z",
    "reason": "the record is not a parcel: JSON is malformed: invalid character (byte 4)",
    "size": 7,
    "header_names": [],
}

NAME: Final = Parameter(name="name", place="path", type=str, what="The id of a record.")
LIST: Final = Operation(
    route="GET /v1/quarantine",
    name="listQuarantine",
    summary="List what was never a task",
    parameters=[
        asked("discarded", Literal["true", "false"], "Those that were dealt with, or the others."),
        LIMIT,
        CURSOR,
    ],
    answers={HTTPStatus.OK: Answer(what="A page.", body=QuarantinePage)},
    problems=["bad_request", "invalid_request", "unavailable"],
    examples=[
        Example(
            name="what nobody dealt with",
            status=HTTPStatus.OK,
            given={"discarded": "false"},
            answer={"records": [_RECORD], "next_cursor": None},
        )
    ],
)
READ: Final = Operation(
    route="GET /v1/quarantine/{name}",
    name="readRecord",
    summary="Read a record of the quarantine",
    details="Its value up to 65,536 bytes, and ten of its headers, each up to 1,024.",
    parameters=[NAME],
    answers={HTTPStatus.OK: Answer(what="The record.", body=OpenedRecord)},
    problems=["not_found", "unavailable"],
    examples=[
        Example(
            name="a record",
            status=HTTPStatus.OK,
            given={"name": RECORD},
            answer=_RECORD | {"value_base64": "bm8gdGFzaw==", "headers_base64": {}},
        )
    ],
)
DISCARD: Final = Operation(
    route="POST /v1/quarantine/{name}/discard",
    name="discardRecord",
    summary="Take note that a record was dealt with",
    details="It is kept, and tells by whose key.",
    parameters=[NAME],
    answers={HTTPStatus.OK: Answer(what="The record.", body=QuarantinedRecord)},
    problems=["not_found", "unavailable"],
    examples=[
        Example(
            name="a record",
            status=HTTPStatus.OK,
            given={"name": RECORD},
            answer=_RECORD
            | {"discarded_at": "2026-11-06T21:30:00.000Z", "discarded_by": "anybody"},
        )
    ],
)
OPERATIONS: Final = (LIST, READ, DISCARD)
