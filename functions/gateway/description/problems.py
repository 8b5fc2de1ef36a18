"""The meaning of each refusal, and what to do next."""

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
"""The refusals of every route; a public route needs no key."""

PROBLEMS: Final[Mapping[ProblemType, Refusal]] = {
    "already_exists": Refusal(
        HTTPStatus.CONFLICT,
        "Another schedule has this name.",
        "Choose another name, or replace that schedule with `PUT`.",
    ),
    "already_finished": Refusal(
        HTTPStatus.CONFLICT,
        "The task or job has already finished.",
        "There is nothing to stop. Read it to see how it ended.",
    ),
    "another_job_lives": Refusal(
        HTTPStatus.CONFLICT,
        "An unfinished redrive job has the same request.",
        "Find that job in the list of jobs; watch it, or stop it first.",
    ),
    "bad_request": Refusal(
        HTTPStatus.BAD_REQUEST,
        "The body is not strict JSON, or the cursor is invalid.",
        "Correct the body as `detail` says; restart a list without its cursor.",
    ),
    "changed_meanwhile": Refusal(
        HTTPStatus.CONFLICT,
        "The schedule's revision is not the one to be replaced.",
        "Read it again and replace its current revision.",
    ),
    "enqueue_refused": Refusal(
        HTTPStatus.GONE,
        "The request was enqueued and committed but is invalid, or it was accepted while Kafka was"
        " down and Kafka later refused it; `detail` says why.",
        "Submit it again, corrected as `detail` says. `GET /v1/enqueued` lists refused requests.",
    ),
    "forbidden": Refusal(
        HTTPStatus.FORBIDDEN,
        "The request was sent by a webhook task; such tasks could loop forever.",
        "Have the receiver of the webhook submit tasks with its own client.",
    ),
    "idempotency_key_reused": Refusal(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "Another request already used this key; `detail` names its task.",
        "Use a separate key for each request, and repeat a request unchanged.",
    ),
    "internal_error": Refusal(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "Internal error. It was logged under the `X-Request-Id` of the response.",
        "Report that id. A submission may have been accepted: repeat it with the same key.",
    ),
    "invalid_payload": Refusal(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "The payload does not match the schema of its type; `field` names the place.",
        "Compare it with the type's schema, here or at `GET /v1/types`.",
    ),
    "invalid_request": Refusal(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "A field or parameter is unknown, missing or invalid; `field` names it.",
        "Correct it as `detail` says. Repeated unchanged, it will be refused again.",
    ),
    "invalid_schedule": Refusal(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "The times of the schedule are malformed, in an unknown zone, or never occur.",
        "Correct the named field as `detail` says.",
    ),
    "managed_schedule": Refusal(
        HTTPStatus.CONFLICT,
        "The schedule is declared in the folder of its type and is part of the deployment.",
        "Change it there and deploy. Pausing, resuming and triggering are allowed.",
    ),
    "method_not_allowed": Refusal(
        HTTPStatus.METHOD_NOT_ALLOWED,
        "The path does not support this method; `Allow` names the supported methods.",
        "Use one of those methods; `GET /openapi.json` describes every route.",
    ),
    "not_found": Refusal(
        HTTPStatus.NOT_FOUND,
        "The resource or route does not exist, or no longer exists.",
        "Check the id. Tasks are deleted after the deployment's retention period.",
    ),
    "not_redrivable": Refusal(
        HTTPStatus.CONFLICT,
        "Only a dead or cancelled task can be redriven.",
        "Wait for its end, or submit another task.",
    ),
    "not_supported_yet": Refusal(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "The field is planned but not supported yet.",
        "Leave it out.",
    ),
    "not_waiting": Refusal(
        HTTPStatus.CONFLICT,
        "Only a waiting task can be changed; this one is running or has ended.",
        "Cancel it if it is running, or submit another task.",
    ),
    "payload_conflict": Refusal(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "The task has both a `payload` and a `payload_ref`.",
        "Leave one of them out.",
    ),
    "payload_missing": Refusal(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "The object of `payload_ref` is missing, is for another type, or may expire too early.",
        "Upload it first: `POST /v1/payloads` returns the upload request and the `payload_ref`.",
    ),
    "payload_too_large": Refusal(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        "The payload is larger than the limit that `detail` names.",
        "Upload it with `POST /v1/payloads`, and send its `payload_ref`.",
    ),
    "request_too_large": Refusal(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        "The batch is larger than the limit that `detail` names.",
        "Send it as several batches.",
    ),
    "unauthorized": Refusal(
        HTTPStatus.UNAUTHORIZED,
        "The API key is missing, unknown, or in the URL.",
        "Send the key in a header. Treat a key that was in a URL as stolen.",
    ),
    "unavailable": Refusal(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "A store is unavailable, or the answer is not known yet.",
        "Repeat the request after `Retry-After` seconds; a submission with the same key.",
    ),
    "unknown_type": Refusal(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "No worker takes tasks of this type; `detail` names the deployed ones.",
        "Correct the type, or deploy its worker first.",
    ),
    "unsupported_media_type": Refusal(
        HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
        "The body is not declared as plain JSON.",
        "Send it with `Content-Type: application/json` and without `Content-Encoding`.",
    ),
}
