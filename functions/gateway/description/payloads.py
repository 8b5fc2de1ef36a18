"""Describes how to upload a payload that is too large for a request."""

from http import HTTPStatus
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from functions.gateway.description.answers import Moment, Pointer
from functions.gateway.description.operation import Answer, Example, Operation
from functions.gateway.payloads import UploadRequest

_DIGEST: Final = "d9ae4d3cd79d0b9a1e9a3e6f4a2c9f4b5a0d6b3f5b1d7e8c9a0b1c2d3e4f5a6b"


class Upload(Struct):
    """A request that uploads exactly this content; it needs no API key."""

    method: Literal["PUT"]
    url: str
    headers: Annotated[dict[str, str], Meta(description="Send them unchanged.")]
    expires_at: Moment


class UploadOffer(Struct):
    """How to upload a payload, and the reference that a task then carries instead of it."""

    payload_ref: Pointer
    upload: Upload


OFFER: Final = Operation(
    route="POST /v1/payloads",
    name="offerUpload",
    summary="Request a link to upload a large payload",
    details="The link fixes size and hash: S3 accepts no other content. The same payload always has"
    " the same address, so both steps can be repeated.",
    takes=UploadRequest,
    answers={HTTPStatus.OK: Answer(what="The request to send.", body=UploadOffer)},
    problems=["bad_request", "unsupported_media_type", "invalid_request", "unknown_type"],
    examples=[
        Example(
            name="a payload of one megabyte",
            status=HTTPStatus.OK,
            body={"type": "echo", "size": 1_000_000, "sha256": _DIGEST},
            answer={
                "payload_ref": {
                    "url": f"s3://bucket/payloads/echo/default/{_DIGEST}",
                    "size": 1_000_000,
                    "sha256": _DIGEST,
                },
                "upload": {
                    "method": "PUT",
                    "url": "https://bucket.s3.us-east-1.amazonaws.com/payloads/echo/default/"
                    f"{_DIGEST}?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=…",
                    "headers": {
                        "Content-Length": "1000000",
                        "x-amz-checksum-sha256": "2a5NPNedC5oemj5vSiyfS1oNaz9bHX6MmgscLT5PWms=",
                    },
                    "expires_at": "2026-11-06T21:35:00.123Z",
                },
            },
        )
    ],
)
OPERATIONS: Final = (OFFER,)
