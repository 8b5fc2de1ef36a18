"""What each refusal means, and what to do next."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from msgspec import Struct

from functions.gateway.http.problem import ProblemType


class Refusal(Struct, frozen=True):
    status: HTTPStatus
    meaning: str
    next_step: str


ANYWHERE: Final[tuple[ProblemType, ...]] = ("unauthorized", "forbidden", "internal_error")
"""What any route may answer; one that is open to all asks for no key."""

PROBLEMS: Final[Mapping[ProblemType, Refusal]] = {
    "already_exists": Refusal(
        HTTPStatus.CONFLICT,
        "There is another schedule of this name.",
        "Take another name, or replace that one with `PUT`.",
    ),
    "already_finished": Refusal(
        HTTPStatus.CONFLICT,
        "It has come to its end.",
        "Nothing is left to stop. Read it to see how it ended.",
    ),
    "another_job_lives": Refusal(
        HTTPStatus.CONFLICT,
        "The same request has another redrive job, which lives.",
        "Watch that one, or stop it first: it is in the list of jobs.",
    ),
    "bad_request": Refusal(
        HTTPStatus.BAD_REQUEST,
        "The body is not JSON that everyone reads alike, or the cursor is not one of ours.",
        "Correct the body as `detail` says; begin a list anew without its cursor.",
    ),
    "changed_meanwhile": Refusal(
        HTTPStatus.CONFLICT,
        "The schedule has another revision than the one that was to be replaced.",
        "Read it again, and replace the revision that you have seen.",
    ),
    "enqueue_refused": Refusal(
        HTTPStatus.GONE,
        "The request was enqueued and committed, and is not one; or it was accepted while Kafka was"
        " away, which will never take it: `detail` says why.",
        "Ask again as `detail` says. What was enqueued is listed on `GET /v1/enqueued`.",
    ),
    "forbidden": Refusal(
        HTTPStatus.FORBIDDEN,
        "The request comes from a webhook of a task: such tasks could go round for ever.",
        "Let the receiver of the webhook submit tasks with a client of its own.",
    ),
    "idempotency_key_reused": Refusal(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "Another request came before under this key; `detail` names its task.",
        "Take a key of its own for each request, and repeat a request as it was.",
    ),
    "internal_error": Refusal(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "The fault is ours, and logged under the `X-Request-Id` of the answer.",
        "Tell the operators that id. A submission may have been taken: repeat it with its key.",
    ),
    "invalid_payload": Refusal(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "The payload does not fit the schema of its type; `field` points at the place.",
        "Compare with the type's schema: it is here, and on `GET /v1/types`.",
    ),
    "invalid_request": Refusal(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "A field or parameter is unknown, missing, or not what it must be; `field` names it.",
        "Correct it as `detail` says. Repeated as it is, it will be refused again.",
    ),
    "invalid_schedule": Refusal(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "The times of the schedule cannot be: malformed, in no known zone, or never.",
        "Correct the field that is named, as `detail` says.",
    ),
    "managed_schedule": Refusal(
        HTTPStatus.CONFLICT,
        "The schedule is declared in the folder of its type, and comes with its deployment.",
        "Change it there and deploy. Pausing, resuming and triggering are allowed.",
    ),
    "method_not_allowed": Refusal(
        HTTPStatus.METHOD_NOT_ALLOWED,
        "The path is there, but it does not take this method; `Allow` names those that it takes.",
        "Send one of those methods; every route is described at `GET /openapi.json`.",
    ),
    "not_found": Refusal(
        HTTPStatus.NOT_FOUND,
        "Nothing of that name is known, or no longer, or there is no such route.",
        "Check the id. Tasks are forgotten after the deployment's days of retention.",
    ),
    "not_redrivable": Refusal(
        HTTPStatus.CONFLICT,
        "Only what is dead or cancelled gets a next generation.",
        "Wait for its end, or submit another task.",
    ),
    "not_supported_yet": Refusal(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "The field is planned, and does nothing yet.",
        "Leave it out.",
    ),
    "not_waiting": Refusal(
        HTTPStatus.CONFLICT,
        "Only a task that waits can be changed, and this one runs or is over.",
        "Cancel it while it runs, or submit another one.",
    ),
    "payload_conflict": Refusal(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "The task has both a `payload` and a `payload_ref`.",
        "Leave one of them out.",
    ),
    "payload_missing": Refusal(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "What `payload_ref` points at is not there, or not for this type, or may be gone by then.",
        "Upload it first: `POST /v1/payloads` tells how, and the `payload_ref` to send.",
    ),
    "payload_too_large": Refusal(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        "The payload is larger than the limit that `detail` names.",
        "Upload it as `POST /v1/payloads` tells, and send its `payload_ref`.",
    ),
    "request_too_large": Refusal(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        "The batch is larger than the limit that `detail` names.",
        "Send it as several batches.",
    ),
    "unauthorized": Refusal(
        HTTPStatus.UNAUTHORIZED,
        "There is no key, or none that is known, or there is one in the URL.",
        "Send a key in a header. One that was in a URL is to be taken for stolen.",
    ),
    "unavailable": Refusal(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "A store is away, or what was asked for cannot be known yet.",
        "Repeat it after `Retry-After` seconds; a submission with its key.",
    ),
    "unknown_type": Refusal(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "No worker takes tasks of this type; `detail` names the deployed ones.",
        "Correct the type, or deploy its worker first.",
    ),
    "unsupported_media_type": Refusal(
        HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
        "The body is not said to be plain JSON.",
        "Send it with `Content-Type: application/json`, and without `Content-Encoding`.",
    ),
}
