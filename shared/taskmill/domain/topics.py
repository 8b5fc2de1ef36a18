"""Every topic name. Nothing else spells a topic."""

from taskmill.domain.task import TaskType

PENDING = "tasks.pending"
EVENTS = "tasks.events"
DLQ = "tasks.dlq"
WORKER_PREFIX = "tasks.worker."


def worker(task_type: TaskType) -> str:
    return f"{WORKER_PREFIX}{task_type}"


def type_of(topic: str) -> TaskType | None:
    """Return whose tasks stand in *topic*; None for a topic of all types."""
    return TaskType(topic.removeprefix(WORKER_PREFIX)) if topic.startswith(WORKER_PREFIX) else None
