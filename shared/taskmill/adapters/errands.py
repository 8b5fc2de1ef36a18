"""What is done beside the caller: a thread for each errand."""

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread


class ThreadErrands:
    """Starts an errand in a thread; one that is still under way is not started twice.

    The threads hold no process that wants to end: the standard pool would join them.
    """

    def __init__(self) -> None:
        self._under_way: dict[str, Future[int]] = {}

    def start(self, name: str, errand: Callable[[], int]) -> Future[int]:
        known = self._under_way.get(name)
        if known is not None and not known.done():
            return known
        outcome: Future[int] = Future()
        self._under_way[name] = outcome
        Thread(target=_do, args=(errand, outcome), name=name, daemon=True).start()
        return outcome


def _do(errand: Callable[[], int], outcome: Future[int]) -> None:
    try:
        outcome.set_result(errand())
    except BaseException as error:  # noqa: BLE001 - it is raised where the outcome is asked for
        outcome.set_exception(error)
