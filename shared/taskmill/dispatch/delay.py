"""Lets tasks wait for their time."""

import logging
from collections.abc import Sequence

from taskmill.core.errors import StoreUnavailable
from taskmill.core.log import Position
from taskmill.core.task import Envelope
from taskmill.core.timing import due_of, is_delayed
from taskmill.dispatch.ports import Delays
from taskmill.dispatch.waiting import Delayed, DelayOrder
from taskmill.execution.arrivals import SealedArrival
from taskmill.execution.context import named

_log = logging.getLogger("taskmill.delay")


def waits(envelope: Envelope) -> bool:
    """Tell whether an envelope in `tasks.pending` waits for its time before anything else."""
    is_admitted = not envelope.deferred and envelope.parked_until_ms is None
    return is_admitted and is_delayed(envelope)


def delay(arrivals: Sequence[SealedArrival], delays: Delays) -> set[Position]:
    """Let each arrival wait; return the positions that must come again.

    The others may be committed: a near one is owed in Redis, and scheduled in the ledger from which
    Redis would be rebuilt; a far one is the ledger's, whatever Redis says. One whose life went on
    elsewhere stands in the ledger, too, and would wait there again if Redis forgot.
    """
    failed: set[Position] = set()
    for arrival, answer in zip(arrivals, _answers(arrivals, delays), strict=True):
        if answer is Delayed.COLD:
            failed.add(arrival.source.position)
        elif answer is Delayed.FORGOTTEN:
            _log.warning("no record, too old to adopt", extra=named(arrival.envelope))
    return failed


def _answers(arrivals: Sequence[SealedArrival], delays: Delays) -> Sequence[Delayed]:
    orders = [
        DelayOrder(envelope=one.envelope, due_at_ms=due, raw=one.sealed.raw)
        for one in arrivals
        if (due := due_of(one.envelope)) is not None
    ]
    try:
        return delays.delay(orders)
    except StoreUnavailable:
        return [Delayed.COLD] * len(arrivals)
