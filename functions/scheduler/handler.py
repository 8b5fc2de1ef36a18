"""Runs all time-driven work; two runs are always active, and neither is the leader."""

from datetime import timedelta
from typing import Any

from functions.scheduler.jobs import JOBS, TICKING
from functions.scheduler.loop import JobLoop
from taskmill.platform import process, run

LAST_WORK_BEFORE_THE_END = timedelta(seconds=5)
TIME_TO_ANSWER = timedelta(seconds=1)


@process.invocation("scheduler")
def lambda_handler(_event: dict[str, Any], context: Any) -> dict[str, int]:
    """Return how much each job did. When a job raises, the run continues and fails at its end."""

    def left() -> timedelta:
        return timedelta(milliseconds=context.get_remaining_time_in_millis())

    loop = JobLoop(
        JOBS,
        background_jobs=run.background_jobs(),
        counters=process.counters(),
        log=process.log("scheduler"),
        tick=TICKING.stores().pace.tick,
        now=lambda: -left(),  # towards zero: the only clock here that never jumps
    )
    while left() > LAST_WORK_BEFORE_THE_END:
        process.pause(loop.work())
    loop.finish(within=left() - TIME_TO_ANSWER)
    if loop.bug is not None:
        raise loop.bug
    return loop.done


def _start() -> None:
    """Refuse settings that any job lacks, and open what every tick uses."""
    for job in JOBS:
        job.opener.stores()
    TICKING.stores().opened("due", "bus")


process.at_init(_start)
