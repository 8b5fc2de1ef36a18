"""Takes what stands in `tasks.pending` and puts it in line for its worker."""

from datetime import timedelta
from typing import Any

from taskmill.bootstrap import dispatcher, worker
from taskmill.core.log import Position
from taskmill.core.task import TaskType
from taskmill.dispatch.delay import delay, waits
from taskmill.dispatch.parking import park
from taskmill.dispatch.route import dispatch
from taskmill.execution.arrivals import SealedArrival, open_sealed_arrivals
from taskmill.execution.execute import execute
from taskmill.execution.outcome import UnknownType
from taskmill.platform import process
from taskmill.platform.kafka_event import failures, records_of


@process.counting()
def lambda_handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    process.log("dispatcher")
    bus = worker.services().bus
    arrivals = open_sealed_arrivals(records_of(event), bus)
    failed = delay([one for one in arrivals if waits(one.envelope)], dispatcher.delays())
    arrivals = [one for one in arrivals if not waits(one.envelope)]
    wanted = [one for one in arrivals if _has_a_way(one)]
    parkings = park([one for one in arrivals if not _has_a_way(one)], dispatcher.parking())
    failed |= dispatch(wanted, knows=_knows, admission=dispatcher.admission(), bus=bus)
    failed |= parkings.failed | _bury(parkings.over, context)
    return failures(failed)


def _has_a_way(arrival: SealedArrival) -> bool:
    """Tell what is routed from what waits; what is not admitted yet can only be routed."""
    return arrival.envelope.deferred or _knows(arrival.envelope.type)


def _knows(task_type: TaskType) -> bool:
    return process.catalogue().entry(task_type) is not None


def _bury(arrivals: list[SealedArrival], context: Any) -> set[Position]:
    """End tasks that no deployed worker takes, as their worker would have ended them."""
    shop = worker.shop(context, concurrency=100, longest=timedelta(seconds=5))
    unsealed = [one.unsealed() for one in arrivals]
    return execute(unsealed, lambda task: UnknownType(task.type), shop)


process.at_init(worker.services)
