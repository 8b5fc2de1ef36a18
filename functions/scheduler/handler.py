"""Does everything that must happen at a time; two runs are always alive, none is the leader."""

from datetime import timedelta
from typing import Any

from functions.scheduler.chores import (
    counting,
    expiring,
    firing,
    forgetting,
    nearing,
    publishing,
    putting_back,
    rebuilding,
    reconciling,
    redriving,
    relaying,
    retaining,
    taking,
)
from functions.scheduler.rota import Rota
from taskmill.bootstrap import scheduler
from taskmill.platform import process

CHORES = (
    publishing.CHORE,
    forgetting.CHORE,
    counting.CHORE,
    rebuilding.CHORE,
    reconciling.CHORE,
    relaying.CHORE,
    retaining.CHORE,
    putting_back.CHORE,
    redriving.CHORE,
    nearing.CHORE,
    expiring.CHORE,
    firing.CHORE,
    taking.TAKE,
    taking.TAKE_UP,
)
LAST_WORK_BEFORE_THE_END = timedelta(seconds=5)
TIME_TO_ANSWER = timedelta(seconds=1)


@process.counting()
def lambda_handler(_event: dict[str, Any], context: Any) -> dict[str, int]:
    """Return how much each chore did. A bug in one ends the run as failed, when it is over."""

    def left() -> timedelta:
        return timedelta(milliseconds=context.get_remaining_time_in_millis())

    rota = Rota(
        CHORES,
        errands=scheduler.errands(),
        counters=process.counters(),
        log=process.log("scheduler"),
        tick=scheduler.services().pace.tick,
        now=lambda: -left(),  # towards zero: the one clock here that never jumps
    )
    while left() > LAST_WORK_BEFORE_THE_END:
        process.pause(rota.work())
    rota.finish(within=left() - TIME_TO_ANSWER)
    if rota.bug is not None:
        raise rota.bug
    return rota.done


process.at_init(scheduler.services)
