"""Problems as `application/problem+json`."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from taskmill.core.refusal import LONGEST_TEXT, Refusal, RefusalKind
from taskmill.core.text import clip
from taskmill.core.view import ReadRefused

PROBLEM_JSON: Final = "application/problem+json"

ProblemType: TypeAlias = Literal[
    "already_exists",
    "already_finished",
    "another_job_lives",
    "bad_request",
    "changed_meanwhile",
    "enqueue_refused",
    "forbidden",
    "idempotency_key_reused",
    "internal_error",
    "invalid_payload",
    "invalid_request",
    "invalid_schedule",
    "managed_schedule",
    "method_not_allowed",
    "not_found",
    "not_redrivable",
    "not_supported_yet",
    "not_waiting",
    "payload_conflict",
    "payload_missing",
    "payload_too_large",
    "request_too_large",
    "unauthorized",
    "unavailable",
    "unknown_type",
    "unsupported_media_type",
]
"""Every type of refusal; `description/problems.py` gives the meaning and next step of each."""


# Defined here because the phrases of HTTPStatus differ between Python versions.
_TITLES = {
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "Content Too Large",
    HTTPStatus.UNPROCESSABLE_ENTITY: "Unprocessable Content",
}


class Problem(Struct, frozen=True):
    """A refused request: what is wrong, where (a JSON pointer), and the response headers."""

    status: HTTPStatus
    type: ProblemType
    detail: str
    field: str | None = None
    retry_after_seconds: int | None = None
    allow: tuple[str, ...] = ()
    """The methods that the path supports, for a request with another one."""

    def as_json(self) -> dict[str, object]:
        body: dict[str, object] = {
            "type": self.type,
            "title": _TITLES.get(self.status, self.status.phrase),
            "status": int(self.status),
            "detail": clip(self.detail, LONGEST_TEXT),
        }
        if self.field is not None:
            body["field"] = clip(self.field, LONGEST_TEXT)
        return body


_STATUS: Mapping[RefusalKind, HTTPStatus] = {
    RefusalKind.MALFORMED: HTTPStatus.BAD_REQUEST,
    RefusalKind.INVALID: HTTPStatus.UNPROCESSABLE_ENTITY,
    RefusalKind.TOO_LARGE: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    RefusalKind.UNAVAILABLE: HTTPStatus.SERVICE_UNAVAILABLE,
}


def problem_of(refusal: Refusal) -> Problem:
    """Convert a refusal from any entry point to an HTTP problem."""
    rest = 2 if refusal.kind is RefusalKind.UNAVAILABLE else None
    return Problem(_STATUS[refusal.kind], refusal.code, refusal.detail, refusal.pointer, rest)


def bad_request(detail: str) -> Problem:
    return Problem(HTTPStatus.BAD_REQUEST, "bad_request", detail)


def unprocessable(kind: ProblemType, detail: str, field: str | None = None) -> Problem:
    return Problem(HTTPStatus.UNPROCESSABLE_ENTITY, kind, detail, field)


def too_large(kind: ProblemType, detail: str, field: str | None = None) -> Problem:
    return Problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, kind, detail, field)


def unavailable(detail: str, retry_after_seconds: int) -> Problem:
    return Problem(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "unavailable",
        detail,
        retry_after_seconds=retry_after_seconds,
    )


def conflict(kind: ProblemType, detail: str) -> Problem:
    return Problem(HTTPStatus.CONFLICT, kind, detail)


def missing(detail: str) -> Problem:
    return Problem(HTTPStatus.NOT_FOUND, "not_found", detail)


def not_found(task_id: str) -> Problem:
    return missing(f"there is no task {task_id}")


def refused(refusal: ReadRefused) -> Problem:
    """Return the problem for the id of a request that was refused after its commit."""
    detail = f"the enqueued request was refused as {refusal.code}: {refusal.detail}"
    return Problem(HTTPStatus.GONE, "enqueue_refused", detail, refusal.pointer)
