"""The hot state of tasks, for those who read it or wait for it."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from taskmill.domain.records import Reading
from taskmill.domain.task import TaskId


class Records(Protocol):
    """The hot state of tasks, for readers."""

    def read(self, ids: Sequence[TaskId]) -> Sequence[Reading]: ...


class Waiters(Protocol):
    """The places for requests that are held until a task ends."""

    def place(self) -> AbstractContextManager[bool]: ...
