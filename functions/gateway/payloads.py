"""Large payloads over HTTP: how one is uploaded, and whether one was."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from functions.gateway.http.answer import Answer, Told, json_body, new_router, tell
from functions.gateway.http.problem import Problem, bad_request, problem_of, unprocessable
from functions.gateway.presenter import moment
from functions.gateway.stores import stores
from taskmill.core.pointers import LINK_LIVES, Digest, Pointer, Size, payload_key, result_prefix
from taskmill.core.task import DEFAULT_TENANT, Millis
from taskmill.core.time import in_ms
from taskmill.platform import process
from taskmill.submission import strict_json
from taskmill.submission.read import misfit, unknown_type

router = new_router()


@router.post("/v1/payloads")
def post_payload() -> Answer:
    body = json_body(router.current_event)
    return tell(body if isinstance(body, Problem) else offer_upload(body))


MOST_IN_A_BATCH = 100
"""Each is looked for by a question of its own."""


class UploadRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A payload, by what the upload must be."""

    type: Annotated[str, Meta(min_length=1, max_length=128)]
    size: Size
    sha256: Digest


def offer_upload(body: bytes) -> Told | Problem:
    """Tell the one request that uploads this payload, and what then points at it."""
    try:
        request = msgspec.convert(strict_json.read(body), UploadRequest)
    except strict_json.NotJson as error:
        return bad_request(str(error))
    except msgspec.ValidationError as error:
        return problem_of(misfit(str(error)))
    catalogue = stores().catalogue
    if catalogue.entry(request.type) is None:
        return problem_of(unknown_type(request.type, catalogue))
    bucket = stores().blobs
    key = payload_key(request.type, DEFAULT_TENANT, request.sha256)
    pointer = Pointer(url=bucket.url(key), size=request.size, sha256=request.sha256)
    upload = bucket.upload_link(key, size=request.size, digest=request.sha256)
    lives_until = moment(Millis(process.clock() + in_ms(LINK_LIVES)))
    told = msgspec.structs.asdict(upload) | {"expires_at": lives_until}
    return Told(HTTPStatus.OK, {"payload_ref": pointer, "upload": told})


def too_many_pointers(tasks: Sequence[Any]) -> Problem | None:
    pointed = sum(isinstance(one, dict) and "payload_ref" in one for one in tasks)
    if pointed <= MOST_IN_A_BATCH:
        return None
    detail = f"{pointed} tasks have a payload_ref; a batch may have {MOST_IN_A_BATCH} of them"
    return unprocessable("invalid_request", detail, "/tasks")


def downloadable(pointer: Pointer, prefix: str) -> dict[str, Any]:
    """Show a pointer with a link to what is there, if its type may have written it."""
    shown = msgspec.structs.asdict(pointer)
    bucket = stores().blobs
    if not pointer.url.startswith(bucket.url(prefix)):
        return shown
    return shown | {"download_url": bucket.download_link(pointer.url)}


def downloadable_result(pointer: Pointer, task_type: str) -> dict[str, Any]:
    return downloadable(pointer, result_prefix(task_type))


def downloadable_payload(pointer: Pointer, task_type: str, tenant: str) -> dict[str, Any]:
    return downloadable(pointer, payload_key(task_type, tenant, pointer.sha256))
