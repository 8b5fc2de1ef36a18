"""Describes how webhook receivers are disabled and enabled."""

from http import HTTPStatus
from typing import Final, Literal

from msgspec import Struct

from functions.gateway.description.answers import Moment
from functions.gateway.description.operation import Answer, Example, Operation
from functions.gateway.description.parameters import LIMIT
from functions.gateway.endpoints import EnableRequest

URL: Final = "https://hooks.example.com/in"


class DisabledEndpoint(Struct):
    """A receiver that answered 410 Gone."""

    url: str
    disabled_at: Moment


class DisabledEndpoints(Struct):
    """Latest first."""

    endpoints: list[DisabledEndpoint]


class EnabledEndpoint(Struct):
    """The receiver is called again."""

    url: str
    enabled: Literal[True]


LIST: Final = Operation(
    route="GET /v1/endpoints/disabled",
    name="listDisabledEndpoints",
    summary="List disabled webhook receivers",
    parameters=[LIMIT],
    answers={HTTPStatus.OK: Answer(what="Endpoints.", body=DisabledEndpoints)},
    problems=["invalid_request", "unavailable"],
    examples=[
        Example(
            name="one that answered 410",
            status=HTTPStatus.OK,
            answer={"endpoints": [{"url": URL, "disabled_at": "2026-11-06T21:20:00.000Z"}]},
        )
    ],
)
ENABLE: Final = Operation(
    route="POST /v1/endpoints/enable",
    name="enableEndpoint",
    summary="Enable a disabled webhook receiver",
    takes=EnableRequest,
    answers={HTTPStatus.OK: Answer(what="The receiver is enabled.", body=EnabledEndpoint)},
    problems=[
        "bad_request",
        "unsupported_media_type",
        "invalid_request",
        "not_found",
        "unavailable",
    ],
    examples=[
        Example(
            name="a receiver that works again",
            status=HTTPStatus.OK,
            body={"url": URL},
            answer={"url": URL, "enabled": True},
        )
    ],
)
OPERATIONS: Final = (LIST, ENABLE)
