"""Lets tasks wait: for their time, or for a worker that takes their type."""

import logging
from collections.abc import Sequence
from typing import assert_never

from msgspec import Struct, field

from taskmill.core.errors import StoreUnavailable
from taskmill.core.log import Position
from taskmill.core.task import Envelope
from taskmill.core.time import due_of, is_delayed
from taskmill.dispatch.arrivals import Arrival
from taskmill.dispatch.ports import Delays, Parking
from taskmill.dispatch.waiting import Delayed, DelayOrder, ParkAnswer
from taskmill.execution.context import named

_log = logging.getLogger("taskmill.delay")


def waits(envelope: Envelope) -> bool:
    """Return whether an envelope in `tasks.pending` must wait for its time first."""
    is_admitted = not envelope.deferred and envelope.parked_until_ms is None
    return is_admitted and is_delayed(envelope)


def delay(arrivals: Sequence[Arrival], delays: Delays) -> set[Position]:
    """Delay each arrival; return the positions to retry.

    The others may be committed: a near task is owed by Redis, and scheduled in the ledger from
    which Redis would be rebuilt; a far one belongs to the ledger, whatever Redis has. A task that
    has moved on is in the ledger as well, and would wait there again if Redis lost its data.
    """
    failed: set[Position] = set()
    for arrival, answer in zip(arrivals, _answers(arrivals, delays), strict=True):
        if answer is Delayed.COLD:
            failed.add(arrival.position)
        elif answer is Delayed.FORGOTTEN:
            _log.warning(
                "envelope without a record is too old to adopt", extra=named(arrival.envelope)
            )
    return failed


def _answers(arrivals: Sequence[Arrival], delays: Delays) -> Sequence[Delayed]:
    orders = [
        DelayOrder(envelope=one.envelope, due_at_ms=due, raw=one.raw.raw)
        for one in arrivals
        if (due := due_of(one.envelope)) is not None
    ]
    if not orders:
        return []
    try:
        return delays.delay(orders)
    except StoreUnavailable:
        return [Delayed.COLD] * len(arrivals)


class Parkings(Struct):
    over: list[Arrival] = field(default_factory=list)
    """Tasks that no worker will take: they end here unless they have moved on."""

    failed: set[Position] = field(default_factory=set)


def park(arrivals: Sequence[Arrival], parking: Parking) -> Parkings:
    """Owe each arrival to `tasks.pending` after a while; retry those that cannot be owed.

    The positions of parked tasks may be committed: they are then owed by Redis, and queued in the
    ledger from which Redis would be rebuilt.
    """
    parkings = Parkings()
    for arrival, answer in zip(arrivals, _parkings(arrivals, parking), strict=True):
        match answer:
            case ParkAnswer.PARKED:
                pass
            case ParkAnswer.OVER:
                parkings.over.append(arrival)
            case ParkAnswer.COLD:
                parkings.failed.add(arrival.position)
            case _:
                assert_never(answer)
    return parkings


def _parkings(arrivals: Sequence[Arrival], parking: Parking) -> Sequence[ParkAnswer]:
    if not arrivals:
        return []
    try:
        return parking.park([one.raw for one in arrivals])
    except StoreUnavailable:
        return [ParkAnswer.COLD] * len(arrivals)
