"""Large payloads over HTTP: offers uploads and checks that they happened."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from functions.gateway.http.body import read_as
from functions.gateway.http.problem import Problem, problem_of, unprocessable
from functions.gateway.http.routes import ApiRequest, Routes, Success
from functions.gateway.presenter import moment
from taskmill.core.pointers import LINK_LIVES, Digest, Pointer, Size, payload_key, result_prefix
from taskmill.core.task import DEFAULT_TENANT, Millis
from taskmill.core.time import in_ms
from taskmill.stores.stores import Stores
from taskmill.submission.read import unknown_type

routes = Routes()

MOST_IN_A_BATCH = 100
"""Each needs its own request to the bucket."""


class UploadRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A payload, described by the upload it needs."""

    type: Annotated[str, Meta(min_length=1, max_length=128)]
    size: Size
    sha256: Digest


@routes.post("/v1/payloads", takes_json=True)
def offer_upload(request: ApiRequest) -> Success | Problem:
    """Return the request that uploads this payload, and the reference to the object."""
    body = read_as(UploadRequest, request.body)
    if isinstance(body, Problem):
        return body
    stores = request.stores
    if stores.catalogue.entry(body.type) is None:
        return problem_of(unknown_type(body.type, stores.catalogue))
    key = payload_key(body.type, DEFAULT_TENANT, body.sha256)
    pointer = Pointer(url=stores.blobs.url(key), size=body.size, sha256=body.sha256)
    upload = stores.blobs.upload_link(key, size=body.size, digest=body.sha256)
    lives_until = moment(Millis(stores.clock() + in_ms(LINK_LIVES)))
    link = msgspec.structs.asdict(upload) | {"expires_at": lives_until}
    return Success(HTTPStatus.OK, {"payload_ref": pointer, "upload": link})


def too_many_pointers(tasks: Sequence[Any]) -> Problem | None:
    count = sum(isinstance(one, dict) and "payload_ref" in one for one in tasks)
    if count <= MOST_IN_A_BATCH:
        return None
    detail = f"{count} tasks have a payload_ref; the limit for a batch is {MOST_IN_A_BATCH}"
    return unprocessable("invalid_request", detail, "/tasks")


def downloadable_result(stores: Stores, pointer: Pointer, task_type: str) -> dict[str, Any]:
    return _downloadable(stores, pointer, result_prefix(task_type))


def downloadable_payload(
    stores: Stores, pointer: Pointer, task_type: str, tenant: str
) -> dict[str, Any]:
    return _downloadable(stores, pointer, payload_key(task_type, tenant, pointer.sha256))


def _downloadable(stores: Stores, pointer: Pointer, prefix: str) -> dict[str, Any]:
    """Add a download link to a pointer if its type may have written the object."""
    view = msgspec.structs.asdict(pointer)
    if not pointer.url.startswith(stores.blobs.url(prefix)):
        return view
    return view | {"download_url": stores.blobs.download_link(pointer.url)}
