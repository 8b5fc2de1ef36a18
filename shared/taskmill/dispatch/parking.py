"""Lets tasks wait for a worker that takes their type, as long as one may still be deployed."""

from collections.abc import Sequence
from typing import assert_never

from msgspec import Struct, field

from taskmill.core.errors import StoreUnavailable
from taskmill.core.log import Position
from taskmill.dispatch.ports import Parking
from taskmill.dispatch.waiting import Parked
from taskmill.execution.arrivals import SealedArrival


class Parkings(Struct):
    over: list[SealedArrival] = field(default_factory=list)
    """Nobody will take them: their life ends here, unless it went on elsewhere."""

    failed: set[Position] = field(default_factory=set)


def park(arrivals: Sequence[SealedArrival], parking: Parking) -> Parkings:
    """Owe each arrival to `tasks.pending` after a while; what cannot be owed comes again.

    The positions of what is parked may be committed: it is then owed in Redis, and queued in the
    ledger from which Redis would be rebuilt.
    """
    told = Parkings()
    for arrival, answer in zip(arrivals, _answers(arrivals, parking), strict=True):
        match answer:
            case Parked.PARKED:
                pass
            case Parked.OVER:
                told.over.append(arrival)
            case Parked.COLD:
                told.failed.add(arrival.source.position)
            case _:
                assert_never(answer)
    return told


def _answers(arrivals: Sequence[SealedArrival], parking: Parking) -> Sequence[Parked]:
    try:
        return parking.park([one.sealed for one in arrivals])
    except StoreUnavailable:
        return [Parked.COLD] * len(arrivals)
