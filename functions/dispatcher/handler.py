"""Reads `tasks.pending` and puts each task into the lane of its type."""

from datetime import timedelta
from typing import Any, Final

from taskmill.dispatch.route import Dispatch
from taskmill.platform import process, run
from taskmill.platform.kafka_event import respond
from taskmill.stores.stores import Stores

AT_A_TIME: Final = 100
"""How many tasks without a worker are ended concurrently at most."""

LONGEST: Final = timedelta(seconds=5)


def _stores() -> Stores:
    return process.stores("dispatcher", needs=("kafka", "redis"))


@process.invocation("dispatcher")
def lambda_handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    stores = _stores()
    run_context = run.run_context(
        stores, context, concurrency=AT_A_TIME, longest=LONGEST, executor=run.executor()
    )
    return respond(event, lambda records: Dispatch(stores).route(records, run_context))


process.at_init(lambda: _stores().opened("leases", "bus"))
process.at_init(run.executor)
