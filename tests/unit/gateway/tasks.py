"""Tasks in the forms that readers can find."""

from typing import Any

from msgspec.structs import replace

from taskmill.core.task import Millis, ShownSpec, Status, TaskId, TaskType
from taskmill.core.view import TaskView

CREATED = 1_794_000_000_123
ID = TaskId("01a1b2c3-0000-7000-8000-000000000001")


def a_view(spec: dict[str, Any] | None = None, **fields: Any) -> TaskView:
    plain = ShownSpec(
        type=TaskType("echo"),
        tenant="default",
        idempotency_key=None,
        created_at_ms=Millis(CREATED),
        max_attempts=4,
        payload_size=2,
        metadata={},
    )
    usual = {
        "id": ID,
        "spec": replace(plain, **(spec or {})),
        "status": Status.QUEUED,
        "generation": 9,
        "attempt": 1,
        "losses": 0,
        "started_at_ms": None,
        "ending": None,
        "result": None,
    }
    return TaskView(**(usual | fields))
