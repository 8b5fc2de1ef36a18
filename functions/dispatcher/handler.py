"""Takes what stands in `tasks.pending` and puts it in line for its worker."""

from datetime import timedelta
from typing import Any, Final

from taskmill.bootstrap import dispatcher, worker
from taskmill.dispatch.route import Dispatch
from taskmill.platform import process
from taskmill.platform.kafka_event import failures, records_of

AT_A_TIME: Final = 100
LONGEST: Final = timedelta(seconds=5)
"""So many tasks that no worker takes are ended side by side, each in no longer than that."""


@process.counting()
def lambda_handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    process.log("dispatcher")
    stores = dispatcher.stores(worker.services().bus)
    shop = worker.shop(context, concurrency=AT_A_TIME, longest=LONGEST)
    return failures(Dispatch(stores).route(records_of(event), shop))


process.at_init(worker.services)
