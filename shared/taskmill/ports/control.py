"""Orders from outside to tasks that live or are over."""

from collections.abc import Sequence
from typing import Protocol

from taskmill.domain.control import (
    CancelOrder,
    ChangeOrder,
    OrderAnswer,
    RedriveAnswer,
    RedriveOrder,
    Sight,
)
from taskmill.domain.task import TaskId


class Control(Protocol):
    """Orders from outside: each stands only when its task is still as it was seen."""

    def see(self, ids: Sequence[TaskId]) -> Sequence[Sight]: ...

    def cancel(self, orders: Sequence[CancelOrder]) -> Sequence[OrderAnswer]: ...

    def redrive(self, orders: Sequence[RedriveOrder]) -> Sequence[RedriveAnswer]: ...

    def change(self, orders: Sequence[ChangeOrder]) -> Sequence[OrderAnswer]: ...
