"""Orders from outside to tasks that live or are over."""

from collections.abc import Sequence
from typing import Protocol

from taskmill.domain.control import CancelAnswer, CancelOrder, RedriveAnswer, RedriveOrder, Sight
from taskmill.domain.task import TaskId


class Control(Protocol):
    """Orders from outside: each stands only when its task is still as it was seen."""

    def see(self, ids: Sequence[TaskId]) -> Sequence[Sight]: ...

    def cancel(self, orders: Sequence[CancelOrder]) -> Sequence[CancelAnswer]: ...

    def redrive(self, orders: Sequence[RedriveOrder]) -> Sequence[RedriveAnswer]: ...
