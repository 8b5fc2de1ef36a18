"""Errands that are done at once, where they are started."""

from collections.abc import Callable
from concurrent.futures import Future


class InlineErrands:
    def start(self, _name: str, errand: Callable[[], int]) -> Future[int]:
        outcome: Future[int] = Future()
        try:
            outcome.set_result(errand())
        except Exception as error:  # noqa: BLE001 - it is raised where the outcome is asked for
            outcome.set_exception(error)
        return outcome
