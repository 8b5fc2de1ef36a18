"""The deployed types with their payload schemas and defaults."""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta, Struct

from taskmill.core.backoff import DEFAULT_RETRY, RetryPolicy
from taskmill.core.task import TaskType


class TypeDefaults(Struct, frozen=True, kw_only=True):
    max_attempts: Annotated[int, Meta(ge=1, le=100)] = 4
    timeout_seconds: Annotated[float, Meta(ge=0.1, le=800)] = 30.0
    retry: RetryPolicy = DEFAULT_RETRY


class TypeEntry(Struct, frozen=True, kw_only=True):
    """One deployed type; the function's own timeout limits every task's."""

    name: TaskType
    title: str
    schema: Mapping[str, Any]
    defaults: TypeDefaults
    function_timeout_seconds: float


class PayloadMisfit(Struct, frozen=True):
    """Where a payload does not fit its type's schema (a JSON pointer), and why."""

    pointer: str
    why: str
