"""Tasks used in examples."""

from typing import Any, Final

ID: Final = "019f4a6b-1c2d-7e3f-8a4b-5c6d7e8f9a0b"
DEAD_ID: Final = "019f4a6b-2d3e-7f40-9b5c-6d7e8f9a0b1c"
KEY: Final = "order 17"
SINCE: Final = "2026-11-06T21:00:00.000Z"
UNTIL: Final = "2100-01-01T00:00:00.000Z"

QUEUED: Final[dict[str, Any]] = {
    "id": ID,
    "type": "echo",
    "tenant": "default",
    "status": "queued",
    "attempt": 1,
    "max_attempts": 4,
    "losses": 0,
    "generation": 1794000000123,
    "created_at": "2026-11-06T21:20:00.123Z",
    "metadata": {"order": "17"},
    "priority": "normal",
    "payload_size": 15,
}
SUCCEEDED: Final = QUEUED | {
    "status": "succeeded",
    "started_at": "2026-11-06T21:20:00.140Z",
    "wait_ms": 17,
    "finished_at": "2026-11-06T21:20:00.141Z",
    "duration_ms": 1,
    "result": {"say": "hello"},
}
DEAD: Final = QUEUED | {
    "id": DEAD_ID,
    "status": "dead",
    "payload_size": 19,
    "started_at": "2026-11-06T21:20:00.140Z",
    "wait_ms": 17,
    "finished_at": "2026-11-06T21:20:00.141Z",
    "duration_ms": 1,
    "reason": "discarded",
    "error": {"class": "Discard", "message": "never"},
}
ASKED: Final = {"type": "echo", "payload": {"say": "hello"}, "metadata": {"order": "17"}}
MISFIT: Final = {
    "type": "invalid_payload",
    "title": "Unprocessable Content",
    "status": 422,
    "detail": "it is less than the minimum of 0",
    "field": "/payload/sleep_seconds",
}
