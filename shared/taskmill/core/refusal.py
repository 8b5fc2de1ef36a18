"""Why something is refused, and who dismissed it."""

from enum import StrEnum
from typing import Literal, TypeAlias

from msgspec import Struct

from taskmill.core.task import Millis, TaskId
from taskmill.core.text import clip

LONGEST_TEXT = 1_000
"""A text may quote the client's input, but a refusal must stay small."""

RefusalCode: TypeAlias = Literal[
    "bad_request",
    "idempotency_key_reused",
    "invalid_payload",
    "invalid_request",
    "invalid_schedule",
    "not_supported_yet",
    "payload_conflict",
    "payload_missing",
    "payload_too_large",
    "unavailable",
    "unknown_type",
]


class RefusalKind(StrEnum):
    """The general cause of a refusal."""

    MALFORMED = "malformed"
    INVALID = "invalid"
    TOO_LARGE = "too_large"
    UNAVAILABLE = "unavailable"
    """No fault of the request: it cannot be checked now and may be accepted later."""


class Refusal(Struct, frozen=True):
    """What is wrong, where (a JSON pointer), and what to do."""

    kind: RefusalKind
    code: RefusalCode
    detail: str
    pointer: str | None = None


def malformed(detail: str) -> Refusal:
    return _refusal(RefusalKind.MALFORMED, "bad_request", detail)


def invalid(code: RefusalCode, detail: str, pointer: str) -> Refusal:
    return _refusal(RefusalKind.INVALID, code, detail, pointer)


def too_large(code: RefusalCode, detail: str, pointer: str) -> Refusal:
    return _refusal(RefusalKind.TOO_LARGE, code, detail, pointer)


def unavailable(detail: str) -> Refusal:
    return _refusal(RefusalKind.UNAVAILABLE, "unavailable", detail)


def key_reused(task_id: TaskId) -> Refusal:
    detail = f"this key was already used by a different request, for task {task_id}"
    return invalid("idempotency_key_reused", detail, "/idempotency_key")


def _refusal(
    kind: RefusalKind, code: RefusalCode, detail: str, pointer: str | None = None
) -> Refusal:
    shown = None if pointer is None else clip(pointer, LONGEST_TEXT)
    return Refusal(kind, code, clip(detail, LONGEST_TEXT), shown)


class Dismissal(Struct, frozen=True, kw_only=True):
    at_ms: Millis
    by: str
