"""Lets tasks wait for their time, and brings them near when it comes."""

import logging
from collections.abc import Sequence
from datetime import timedelta
from typing import Protocol

from taskmill.core.errors import StoreUnavailable
from taskmill.core.log import Position
from taskmill.core.task import Envelope
from taskmill.core.timing import FAR, due_of, is_delayed
from taskmill.dispatch.ports import Delays
from taskmill.dispatch.waiting import Delayed, DelayOrder
from taskmill.execution.arrivals import SealedArrival
from taskmill.execution.context import named
from taskmill.ledger.far import load
from taskmill.ledger.ports import FarTasks

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


class FarStores(Protocol):
    """The ports that bringing far tasks near uses."""

    @property
    def delays(self) -> Delays: ...

    @property
    def far(self) -> FarTasks: ...


class FarFuture:
    """The tasks that the ledger alone keeps, because they are due much later."""

    def __init__(self, stores: FarStores) -> None:
        self._stores = stores

    def bring_near(self, *, within: timedelta = FAR) -> int:
        """Owe those whose time comes near; return how many.

        Beside another, or after a death on any line, they are owed once more, which is one entry.
        One that was changed meanwhile is told as over, and is far again under another turn, or
        near.
        """
        far, delays = self._stores.far, self._stores.delays
        count = 0
        for rows in far.coming(within=within):
            answers = dict(zip([row.id for row in rows], load(rows, delays), strict=True))
            stays = {Delayed.COLD, Delayed.FAR}
            gone = [row for row in rows if answers[row.id] not in stays]
            if gone:
                far.leave(gone)
            count += sum(answer is Delayed.NEAR for answer in answers.values())
        return count
