"""Works on redrive jobs step by step, safe to run concurrently and after a death on any line."""

import logging
from collections.abc import Callable
from typing import Protocol, assert_never

from taskmill.core.task import TaskId
from taskmill.core.view import Finding, Nowhere, Unsure
from taskmill.orders.ports import HeldJob, RedriveJobs
from taskmill.orders.redrive import Again, NotOver, Redrive, Redriver, RedriveRequest, RedriveStores
from taskmill.orders.redrive_job import Done, Finish, Go, Item, JobState, Pause, Wait, next_step

_log = logging.getLogger("taskmill.redrive")


class RedriveJobStores(RedriveStores, Protocol):
    """Ports for redrive jobs."""

    @property
    def redrive_jobs(self) -> RedriveJobs: ...


class RedriveJobRunner:
    def __init__(self, stores: RedriveJobStores, find: Callable[[TaskId], Finding]) -> None:
        self._stores = stores
        self._redriver = Redriver(stores, find)

    def run(self) -> int:
        """Do the next step of every running job; return how many tasks were redriven.

        A step's progress is written last. After an earlier death, its tasks are requested again in
        the generation in which they were dead: those already redriven answer as before and do not
        die again.
        """
        return sum(self._step(job_id) for job_id in self._stores.redrive_jobs.running())

    def _step(self, job_id: str) -> int:
        with self._stores.redrive_jobs.held(job_id) as hold:
            if hold is None:
                return 0
            step = next_step(hold.job, hold.now_ms)
            match step:
                case Go(count):
                    return self._go(hold, count)
                case Wait():
                    return 0
                case Pause(why):
                    _log.warning("redrive job paused", extra={"job_id": job_id, "why": why})
                    hold.change(JobState.PAUSED, why)
                case Finish():
                    hold.change(JobState.DONE, None)
                case _:
                    assert_never(step)
        return 0

    def _go(self, hold: HeldJob, count: int) -> int:
        items = hold.next(count)
        answers = self._redriver.redrive(
            [RedriveRequest(item.id, item.generation) for item in items]
        )
        done = [_done(item, answer) for item, answer in zip(items, answers, strict=True)]
        noted = [one for one in done if one is not None]
        hold.note(noted, paced_for=len(items))
        return sum(one.next_generation is not None for one in noted)


def _done(item: Item, answer: Redrive) -> Done | None:
    match answer:
        case Again(task):
            return Done(item, task.generation)
        case NotOver() | Nowhere():
            return Done(item, None)
        case Unsure():
            return None  # it is requested again in the next step
        case _:
            assert_never(answer)
