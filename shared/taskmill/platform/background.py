"""Background jobs, with one thread for each kind."""

from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Thread
from typing import TypeAlias

_Job: TypeAlias = tuple[Callable[[], int], Future[int]]


class ThreadBackgroundJobs:
    """Runs the jobs of one name in one thread; a job that still runs is not started twice.

    The threads never delay the exit of the process: the standard pool would join them.
    """

    def __init__(self) -> None:
        self._under_way: dict[str, Future[int]] = {}
        self._queues: dict[str, SimpleQueue[_Job]] = {}

    def start(self, name: str, background_job: Callable[[], int]) -> Future[int]:
        known = self._under_way.get(name)
        if known is not None and not known.done():
            return known
        outcome: Future[int] = Future()
        self._under_way[name] = outcome
        if name not in self._queues:
            self._queues[name] = SimpleQueue()
            Thread(target=_work, args=(self._queues[name],), name=name, daemon=True).start()
        self._queues[name].put((background_job, outcome))
        return outcome


def _work(queue: SimpleQueue[_Job]) -> None:
    while True:
        background_job, outcome = queue.get()
        try:
            outcome.set_result(background_job())
        except BaseException as error:  # noqa: BLE001 - raised again when the outcome is read
            outcome.set_exception(error)
