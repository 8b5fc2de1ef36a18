"""Describes how the receivers of webhooks are disabled and enabled."""

from http import HTTPStatus
from typing import Final, Literal

from msgspec import Struct

from functions.gateway.description.answers import Moment
from functions.gateway.description.operation import Answer, Example, Operation
from functions.gateway.description.parameters import LIMIT
from functions.gateway.endpoints import EnableRequest

URL: Final = "https://hooks.example.com/in"


class DisabledEndpoint(Struct):
    """A receiver that said that it is gone."""

    url: str
    disabled_at: Moment


class DisabledEndpoints(Struct):
    """The latest first."""

    endpoints: list[DisabledEndpoint]


class EnabledEndpoint(Struct):
    """It is called again."""

    url: str
    enabled: Literal[True]


LIST: Final = Operation(
    route="GET /v1/endpoints/disabled",
    name="listDisabledEndpoints",
    summary="List the receivers of webhooks that are not called any more",
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
    summary="Let a receiver of webhooks be called again",
    takes=EnableRequest,
    answers={HTTPStatus.OK: Answer(what="It is called again.", body=EnabledEndpoint)},
    problems=[
        "bad_request",
        "unsupported_media_type",
        "invalid_request",
        "not_found",
        "unavailable",
    ],
    examples=[
        Example(
            name="a receiver that is back",
            status=HTTPStatus.OK,
            body={"url": URL},
            answer={"url": URL, "enabled": True},
        )
    ],
)
OPERATIONS: Final = (LIST, ENABLE)
