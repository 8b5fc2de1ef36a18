"""Tasks for a test worker, and their ends."""

from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import Raw

from taskmill.core.facts import TaskDied, TaskStarted, TaskSucceeded
from taskmill.core.task import TaskId, TaskType
from tests.builders import an_envelope

ECHO = TaskType("echo")


@dataclass(frozen=True, slots=True)
class Letter:
    to: str
    copies: int = 1


def a_task(stage, number=0, *, payload: Any = None, **changes):
    return an_envelope(
        **{
            "id": TaskId(f"019f0000-0000-7000-8000-{number:012d}"),
            "generation": stage.clock(),
            "created_at_ms": stage.clock(),
            "max_attempts": 1,
            "payload": Raw(msgspec.json.encode({"to": "me"} if payload is None else payload)),
        }
        | changes
    )


def work(stage, worker, *tasks):
    """Let the tasks wait in the lane, and wake the worker; return its response."""
    return stage.deliver(worker, *tasks)


def ends(stage):
    """Return how each task ended; a long one also reported its start."""
    facts = stage.log.facts()
    return {fact.id: _end(fact) for fact in facts if not isinstance(fact, TaskStarted)}


def _end(fact: Any) -> Any:
    if isinstance(fact, TaskSucceeded):
        return msgspec.json.decode(fact.result)
    assert isinstance(fact, TaskDied)
    return fact.reason, fact.error_class, fact.error_message


def the_end(stage, worker, **task):
    """Return how the only task ended; no record is retried."""
    assert work(stage, worker, a_task(stage, **task)) == {"batchItemFailures": []}
    (end,) = ends(stage).values()
    return end
