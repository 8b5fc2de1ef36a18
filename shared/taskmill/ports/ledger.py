"""The ledger, for readers."""

from collections.abc import Mapping
from typing import Protocol

from taskmill.domain.listing import DeadPage, History, Page, TaskFilter
from taskmill.domain.records import TaskView
from taskmill.domain.task import TaskId


class LedgerRows(Protocol):
    """The ledger, for readers."""

    def find(self, task_id: TaskId) -> TaskView | None: ...

    def fingerprint(self, task_id: TaskId) -> str | None: ...

    def payload(self, task_id: TaskId) -> bytes | None: ...

    def page(self, wanted: TaskFilter) -> Page: ...

    def dead(self, wanted: TaskFilter) -> DeadPage: ...

    def history_of(self, task_id: TaskId, *, most: int) -> History: ...

    def applied(self) -> Mapping[tuple[str, int], int]: ...
