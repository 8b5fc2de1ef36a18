"""The JSON of a task."""

from datetime import UTC, datetime, timedelta
from typing import Any

from taskmill.core.redaction import redacted
from taskmill.core.task import LAST_MOMENT, PRIORITY_NAMES, Millis
from taskmill.core.time import EXPIRED
from taskmill.core.view import Ending, TaskView, Waiting
from taskmill.submission.catalogue import TypeEntry

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def task_as_json(task: TaskView) -> dict[str, Any]:
    spec = task.spec
    view: dict[str, Any] = {
        "id": task.id,
        "type": spec.type,
        "tenant": spec.tenant,
        "status": task.status,
        "attempt": task.attempt,
        "max_attempts": spec.max_attempts,
        "losses": task.losses,
        "generation": task.generation,
        "created_at": moment(spec.created_at_ms),
        "metadata": spec.metadata,
        "priority": PRIORITY_NAMES[spec.priority],
        "payload_size": spec.payload_size,
    }
    if spec.fairness_key is not None:
        view["fairness_key"] = spec.fairness_key
    if spec.payload_ref is not None:
        view["payload_ref"] = spec.payload_ref
    if spec.idempotency_key is not None:
        view["idempotency_key"] = spec.idempotency_key
    run_at_ms = task.run_at_ms
    if run_at_ms is not None:
        view["run_at"] = moment(run_at_ms)
    if spec.timing is not None and spec.timing.expires_at_ms is not None:
        view["expires_at"] = moment(spec.timing.expires_at_ms)
    if (started_ms := _started_ms(task)) is not None:
        first_ms = task.first_started_at_ms or started_ms
        due_ms = run_at_ms or 0
        since_ms = due_ms if due_ms <= first_ms else 0  # deferred after its start
        view["started_at"] = moment(started_ms)
        view["wait_ms"] = max(first_ms - max(since_ms, spec.created_at_ms), 0)
    if task.cancel_requested and not task.status.is_final:
        view["cancel_requested"] = True
    if task.waiting is not None:
        view["next_attempt_at"] = moment(task.waiting.due_at_ms)
        view |= _why(task.waiting)
    if task.ending is not None:
        view |= _ending_as_json(task, task.ending)
    return view


def listed_as_json(task: TaskView, *, with_stack: bool = False) -> dict[str, Any]:
    """Return the task as lists show it, without any key that looks like a secret."""
    view = task_as_json(task)
    if "error" in view and not with_stack:
        view["error"].pop("stack", None)
    if task.spec.idempotency_key is not None:
        view["idempotency_key"] = redacted(task.spec.idempotency_key)
    if task.spec.fairness_key is not None:
        view["fairness_key"] = redacted(task.spec.fairness_key)
    return view


def _started_ms(task: TaskView) -> Millis | None:
    # A worker claims a task to find that it has expired: that is not a start.
    has_expired = task.ending is not None and task.ending.reason == EXPIRED
    return None if has_expired else task.started_at_ms


def _ending_as_json(task: TaskView, ending: Ending) -> dict[str, Any]:
    view: dict[str, Any] = {"finished_at": moment(ending.finished_at_ms)}
    if (started_ms := _started_ms(task)) is not None:
        view["duration_ms"] = max(ending.finished_at_ms - started_ms, 0)
    if ending.result_ref is not None:
        view["result_ref"] = ending.result_ref
    elif task.result is not None:
        view["result"] = task.result
    return view | _why(ending)


def _why(state: Ending | Waiting) -> dict[str, Any]:
    if state.reason is None:
        return {}
    view: dict[str, Any] = {"reason": state.reason}
    if state.error_class is not None:
        view["error"] = {"class": state.error_class, "message": state.error_message}
        if state.stack is not None:
            view["error"]["stack"] = state.stack
    return view


def type_as_json(entry: TypeEntry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "title": entry.title,
        "schema": entry.schema,
        "defaults": entry.defaults,
        "limits": {"timeout_seconds": entry.longest_timeout_seconds},
    }


def moment(at_ms: Millis) -> str:
    at = _EPOCH + timedelta(milliseconds=min(at_ms, LAST_MOMENT))
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
