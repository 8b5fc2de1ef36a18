"""Brings far tasks near: from the ledger to the due set."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Protocol

from taskmill.core.task import Status
from taskmill.core.time import FAR
from taskmill.dispatch.ports import Delays
from taskmill.dispatch.waiting import Delayed, DelayOrder
from taskmill.ledger.ports import FarTasks
from taskmill.ledger.projection import Row, envelope_of


def load(rows: Sequence[Row], delays: Delays) -> Sequence[Delayed]:
    """Create the records of rows that wait for their time, if they are missing or older."""
    orders = {row.id: order for row in rows if (order := _order(row)) is not None}
    answers = delays.delay(list(orders.values()))
    by_id = dict(zip(orders, answers, strict=True))
    return [by_id.get(row.id, Delayed.OVER) for row in rows]


def _order(row: Row) -> DelayOrder | None:
    if row.status is not Status.SCHEDULED or row.due_at_ms is None or row.spec is None:
        return None
    return DelayOrder(
        envelope=envelope_of(row, row.spec),
        due_at_ms=row.due_at_ms,
        from_ledger=True,
        token=row.largest_token,
        losses=row.losses,
    )


class FarStores(Protocol):
    """Ports for bringing far tasks near."""

    @property
    def delays(self) -> Delays: ...

    @property
    def far(self) -> FarTasks: ...


class FarFuture:
    """Tasks kept only in the ledger because they are due much later."""

    def __init__(self, stores: FarStores) -> None:
        self._stores = stores

    def bring_near(self, *, within: timedelta = FAR) -> int:
        """Owe tasks that come near; return their number.

        With another scheduler, or after a death on any line, they are owed again, which is the same
        entry. A task changed meanwhile is answered as over, and is far again under another turn, or
        near.
        """
        far, delays = self._stores.far, self._stores.delays
        count = 0
        for rows in far.coming(within=within):
            answers = dict(zip([row.id for row in rows], load(rows, delays), strict=True))
            stays = {Delayed.COLD, Delayed.FAR}
            leaving = [row for row in rows if answers[row.id] not in stays]
            if leaving:
                far.leave(leaving)
            count += sum(answer is Delayed.NEAR for answer in answers.values())
        return count
