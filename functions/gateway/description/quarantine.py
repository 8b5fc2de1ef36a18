"""Describes the quarantine."""

from http import HTTPStatus
from typing import Any, Final, Literal

from msgspec import UNSET, Struct, UnsetType

from functions.gateway.description.answers import Count, Moment, NextCursor
from functions.gateway.description.operation import Answer, Example, Operation, Parameter
from functions.gateway.description.parameters import CURSOR, LIMIT, query_parameter
from taskmill.core.topics import PENDING

RECORD: Final = f"{PENDING}:0:17:0"


class QuarantinedRecord(Struct, kw_only=True):
    """Position of a log record that was never a task. Its content may be secret."""

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
    """The record with the beginning of its bytes."""

    value_base64: str
    headers_base64: dict[str, str]


class QuarantinePage(Struct):
    """Latest first."""

    records: list[QuarantinedRecord]
    next_cursor: NextCursor


_RECORD: Final[dict[str, Any]] = {
    "id": RECORD,
    "topic": PENDING,
    "partition": 0,
    "offset": 17,
    "at": "2026-11-06T21:20:00.000Z",
    "reason": "the record is not a batch: JSON is malformed: invalid character (byte 4)",
    "size": 7,
    "header_names": [],
}

NAME: Final = Parameter(name="name", place="path", type=str, what="The id of the record.")
LIST: Final = Operation(
    route="GET /v1/quarantine",
    name="listQuarantine",
    summary="List quarantined records",
    parameters=[
        query_parameter(
            "discarded",
            Literal["true", "false"],
            "Whether to list records that were dealt with, or the others.",
        ),
        LIMIT,
        CURSOR,
    ],
    answers={HTTPStatus.OK: Answer(what="A page.", body=QuarantinePage)},
    problems=["bad_request", "invalid_request", "unavailable"],
    examples=[
        Example(
            name="records not yet dealt with",
            status=HTTPStatus.OK,
            given={"discarded": "false"},
            answer={"records": [_RECORD], "next_cursor": None},
        )
    ],
)
READ: Final = Operation(
    route="GET /v1/quarantine/{name}",
    name="readRecord",
    summary="Read a quarantined record",
    details="The first 65,536 bytes of its value and up to ten headers, each up to 1,024 bytes.",
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
    summary="Mark a quarantined record as dealt with",
    details="The record is kept, with the name of the caller's key.",
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
