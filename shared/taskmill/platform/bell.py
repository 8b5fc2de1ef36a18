"""Hears rings of a lane in a thread of its own, while its process waits or works."""

import logging
from datetime import timedelta
from threading import Condition, Thread
from typing import Final

from taskmill.core.errors import StoreUnavailable
from taskmill.core.task import TaskType
from taskmill.execution.ports import Executor
from taskmill.lanes.ports import Rings

_PATIENCE: Final = timedelta(milliseconds=40)
_REST_SECONDS: Final = 1.0

_log = logging.getLogger("taskmill.bell")


class RingBell:
    """Nudges the executor, so that one wait is for an end or for a ring, whichever comes first."""

    def __init__(self, rings: Rings, executor: Executor) -> None:
        self._rings = rings
        self._executor = executor
        self._changed = Condition()
        self._place: tuple[TaskType, int] | None = None
        self._has_rung = False
        self._is_started = False

    @property
    def patience(self) -> timedelta:
        return _PATIENCE

    def listen(self, task_type: TaskType, partition: int) -> bool:
        with self._changed:
            self._place = (task_type, partition)
            if not self._is_started:
                self._is_started = True
                Thread(target=self._hear, daemon=True).start()
            self._changed.notify_all()
        return True

    def has_rung(self) -> bool:
        return self._has_rung

    def clear(self) -> None:
        self._has_rung = False

    def rest(self) -> None:
        with self._changed:
            self._place = None
            self._has_rung = False

    def _hear(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._place is not None)
                place = self._place
            if place is not None:
                self._hear_at(*place)

    def _hear_at(self, task_type: TaskType, partition: int) -> None:
        try:
            has_rung = self._rings.wait(task_type, partition)
        except StoreUnavailable as error:
            _log.warning("no rings are heard", extra={"store": error.store, "why": error.why})
            with self._changed:  # until the process goes, or a moment has passed
                self._changed.wait_for(lambda: self._place is None, _REST_SECONDS)
            return
        if has_rung and self._place == (task_type, partition):
            self._has_rung = True
            self._executor.nudge()
