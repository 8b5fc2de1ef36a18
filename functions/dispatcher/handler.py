"""Takes what stands in `tasks.pending` and puts it in line for its worker."""

from datetime import timedelta
from typing import Any

from taskmill import bootstrap
from taskmill.adapters.kafka.event import failures, records_of
from taskmill.domain.lease import Position
from taskmill.domain.outcome import UnknownType
from taskmill.usecases.arrivals import Arrival, open_arrivals
from taskmill.usecases.dispatch import dispatch
from taskmill.usecases.execute import execute
from taskmill.usecases.shop import Shop


def lambda_handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    bootstrap.log("dispatcher")
    services = bootstrap.worker()
    arrivals = open_arrivals(records_of(event), services.bus)
    known = [one for one in arrivals if _is_known(one)]
    failed = dispatch(known, admission=bootstrap.admission(), bus=services.bus)
    failed |= _bury([one for one in arrivals if not _is_known(one)], context)
    return failures(failed)


def _is_known(arrival: Arrival) -> bool:
    return bootstrap.catalogue().entry(arrival.envelope.type) is not None


def _bury(arrivals: list[Arrival], context: Any) -> set[Position]:
    """End tasks that no deployed worker takes, as their worker would have ended them."""
    services = bootstrap.worker()
    shop = Shop(
        leases=services.leases,
        bus=services.bus,
        crew=services.crew,
        clock=bootstrap.clock,
        process=bootstrap.process_word(),
        concurrency=100,
        longest=timedelta(seconds=5),
        remaining=lambda: timedelta(milliseconds=context.get_remaining_time_in_millis()),
    )
    return execute(arrivals, lambda envelope: UnknownType(envelope.type), shop)


bootstrap.at_init(bootstrap.worker)
