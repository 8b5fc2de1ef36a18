"""How a task looks to a client."""

from datetime import UTC, datetime
from typing import Any

from taskmill.domain.catalogue import TypeEntry
from taskmill.domain.lease import Ending, Waiting
from taskmill.domain.records import TaskView
from taskmill.domain.redaction import redacted
from taskmill.domain.task import Millis


def task_as_json(task: TaskView) -> dict[str, Any]:
    about = task.about
    shown: dict[str, Any] = {
        "id": task.id,
        "type": about.type,
        "tenant": about.tenant,
        "status": task.status,
        "attempt": task.attempt,
        "max_attempts": about.max_attempts,
        "losses": task.losses,
        "generation": task.generation,
        "created_at": moment(about.created_at_ms),
        "metadata": about.metadata,
        "payload_size": about.payload_size,
    }
    if about.idempotency_key is not None:
        shown["idempotency_key"] = about.idempotency_key
    if task.started_at_ms is not None:
        shown["started_at"] = moment(task.started_at_ms)
        shown["wait_ms"] = max(task.started_at_ms - about.created_at_ms, 0)
    if task.cancel_requested and not task.status.is_final:
        shown["cancel_requested"] = True
    if task.waiting is not None:
        shown["next_attempt_at"] = moment(task.waiting.due_at_ms)
        shown |= _why(task.waiting)
    return shown | _ending_as_json(task)


def listed_as_json(task: TaskView) -> dict[str, Any]:
    """Return the task as those see it who asked for many: with no key that looks like a secret."""
    shown = task_as_json(task)
    if task.about.idempotency_key is not None:
        shown["idempotency_key"] = redacted(task.about.idempotency_key)
    return shown


def _ending_as_json(task: TaskView) -> dict[str, Any]:
    ending = task.ending
    if ending is None:
        return {}
    shown: dict[str, Any] = {"finished_at": moment(ending.finished_at_ms)}
    if task.started_at_ms is not None:
        shown["duration_ms"] = max(ending.finished_at_ms - task.started_at_ms, 0)
    if task.result is not None:
        shown["result"] = task.result
    return shown | _why(ending)


def _why(told: Ending | Waiting) -> dict[str, Any]:
    if told.reason is None:
        return {}
    shown: dict[str, Any] = {"reason": told.reason}
    if told.error_class is not None:
        shown["error"] = {"class": told.error_class, "message": told.error_message}
    return shown


def type_as_json(entry: TypeEntry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "title": entry.title,
        "schema": entry.schema,
        "defaults": entry.defaults,
        "limits": {"timeout_seconds": entry.function_timeout_seconds},
    }


def moment(at_ms: Millis) -> str:
    at = datetime.fromtimestamp(at_ms / 1000, UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
