"""Every topic name; no other module spells one."""

from collections.abc import Iterable

from msgspec import Struct

from taskmill.core.task import TaskType

INBOX = "tasks.inbox"
PENDING = "tasks.pending"
EVENTS = "tasks.events"
DLQ = "tasks.dlq"
WORKER_PREFIX = "tasks.worker."
FEEDS = frozenset({PENDING, EVENTS})
"""The topics from which the ledger is built."""


def worker(task_type: TaskType) -> str:
    return f"{WORKER_PREFIX}{task_type}"


def type_of(topic: str) -> TaskType | None:
    """Return the type whose tasks are in *topic*; None for a topic of all types."""
    return TaskType(topic.removeprefix(WORKER_PREFIX)) if topic.startswith(WORKER_PREFIX) else None


class Reader(Struct, frozen=True):
    """The reader of a topic: a function's mapping, identified by its consumer group."""

    name: str
    topic: str

    @property
    def group(self) -> str:
        return f"taskmill-{self.name}"


INBOX_READER = Reader("inbox", INBOX)
DISPATCHER = Reader("dispatcher", PENDING)
RECORDER_PENDING = Reader("recorder-pending", PENDING)
RECORDER_EVENTS = Reader("recorder-events", EVENTS)
RECORDER_DLQ = Reader("recorder-dlq", DLQ)
RECORDERS = (RECORDER_PENDING, RECORDER_EVENTS, RECORDER_DLQ)


def worker_of(task_type: TaskType) -> Reader:
    return Reader(f"worker-{task_type}", worker(task_type))


LOG_READERS = (DISPATCHER, *RECORDERS, INBOX_READER)
"""Those whose records are work; the topics of workers hold only wake-ups."""


def readers(types: Iterable[TaskType]) -> list[Reader]:
    return [*LOG_READERS, *map(worker_of, types)]
