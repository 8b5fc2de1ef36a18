"""Lets tasks wait for their time, and brings them near when it comes."""

import logging
from collections.abc import Sequence
from datetime import timedelta

from taskmill.domain.delay import FAR, Delayed, DelayOrder, due_of, is_delayed
from taskmill.domain.errors import StoreUnavailable
from taskmill.domain.lease import Position
from taskmill.domain.projection import Row
from taskmill.domain.restoration import envelope_of
from taskmill.domain.task import Envelope, Status
from taskmill.ports.delays import Delays, FarTasks
from taskmill.usecases.arrivals import SealedArrival
from taskmill.usecases.shop import named

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


def bring_near(far: FarTasks, delays: Delays, *, within: timedelta = FAR) -> int:
    """Owe those whose time comes near; return how many.

    Beside another, or after a death on any line, they are owed once more, which is one entry. One
    that was changed meanwhile is told as over, and is far again under another turn, or near.
    """
    count = 0
    for rows in far.coming(within=within):
        answers = dict(zip([row.id for row in rows], load(rows, delays), strict=True))
        stays = {Delayed.COLD, Delayed.FAR}
        gone = [row for row in rows if answers[row.id] not in stays]
        if gone:
            far.leave(gone)
        count += sum(answer is Delayed.NEAR for answer in answers.values())
    return count


def load(rows: Sequence[Row], delays: Delays) -> Sequence[Delayed]:
    """Make the records of rows that wait for their time, where these are missing or older."""
    orders = {row.id: order for row in rows if (order := _order(row)) is not None}
    told = delays.delay(list(orders.values()))
    answers = dict(zip(orders, told, strict=True))
    return [answers.get(row.id, Delayed.OVER) for row in rows]


def _order(row: Row) -> DelayOrder | None:
    if row.status is not Status.SCHEDULED or row.due_at_ms is None or row.body is None:
        return None
    return DelayOrder(
        envelope=envelope_of(row, row.body),
        due_at_ms=row.due_at_ms,
        from_ledger=True,
        token=row.largest_token,
        losses=row.losses,
    )
