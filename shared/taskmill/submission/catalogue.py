"""The deployed types with their payload schemas and defaults."""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta, Struct

from taskmill.core.backoff import DEFAULT_RETRY, RetryPolicy
from taskmill.core.task import PriorityName, TaskType
from taskmill.core.time import LONGEST_TIMEOUT


class TypeDefaults(Struct, frozen=True, kw_only=True):
    max_attempts: Annotated[int, Meta(ge=1, le=100)] = 4
    timeout_seconds: Annotated[float, Meta(ge=0.1, le=LONGEST_TIMEOUT.total_seconds())] = 30.0
    retry: RetryPolicy = DEFAULT_RETRY
    priority: PriorityName = "normal"


class TypeEntry(Struct, frozen=True, kw_only=True):
    """One deployed type; its defaults are for a project of a version before 0.2.0."""

    name: TaskType
    title: str
    schema: Mapping[str, Any]
    defaults: TypeDefaults
    longest_timeout_seconds: float = LONGEST_TIMEOUT.total_seconds()
    """The longest time-out that a task of the type may ask for."""

    partitions: int = 6
    """Of the worker topic: the number of processes that can run at once."""


class PayloadMisfit(Struct, frozen=True):
    """Where a payload does not fit its type's schema (a JSON pointer), and why."""

    pointer: str
    why: str
