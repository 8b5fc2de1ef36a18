"""Brings far tasks near: from the ledger to the due set."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final, Protocol

from taskmill.core.task import Status
from taskmill.core.time import FAR
from taskmill.dispatch.ports import Delays, ShelvedRecords
from taskmill.dispatch.waiting import Delayed, DelayOrder, UnshelveOrder
from taskmill.ledger.ports import FarTasks
from taskmill.ledger.projection import Row, envelope_of

KEPT_BY_THE_LEDGER: Final = frozenset({Status.QUEUED, Status.SCHEDULED})
"""The statuses of tasks that the ledger alone may keep: on a shelf, or due much later."""


class LoadStores(Protocol):
    """Ports for creating records of tasks that only the ledger keeps."""

    @property
    def delays(self) -> Delays: ...

    @property
    def shelved_records(self) -> ShelvedRecords: ...


def load(rows: Sequence[Row], stores: LoadStores) -> None:
    """Create the records of rows that only the ledger keeps, if they are missing or older."""
    delay(rows, stores.delays)
    orders = [order for row in rows if row.is_shelved and (order := unshelve_order(row))]
    if orders:
        stores.shelved_records.unshelve(orders)


def unshelve_order(row: Row) -> UnshelveOrder | None:
    if row.spec is None or not row.generation:
        return None
    envelope = envelope_of(row, row.spec)
    return UnshelveOrder(envelope=envelope, token=row.largest_token, losses=row.losses)


def delay(rows: Sequence[Row], delays: Delays) -> Sequence[Delayed]:
    """Create the records of rows that wait for their time, if they are missing or older.

    What the dispatcher has not admitted yet has no generation, and stays with the ledger: a record
    of it would begin another life than the one that the dispatcher will begin.
    """
    orders = {row.id: order for row in rows if (order := _order(row)) is not None}
    answers = delays.delay(list(orders.values()))
    by_id = dict(zip(orders, answers, strict=True))
    return [by_id.get(row.id, Delayed.OVER if row.generation else Delayed.FAR) for row in rows]


def _order(row: Row) -> DelayOrder | None:
    is_waiting = row.status is Status.SCHEDULED and row.generation
    if not is_waiting or row.due_at_ms is None or row.spec is None:
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
            answers = dict(zip([row.id for row in rows], delay(rows, delays), strict=True))
            stays = {Delayed.COLD, Delayed.FAR}
            leaving = [row for row in rows if answers[row.id] not in stays]
            if leaving:
                far.leave(leaving)
            count += sum(answer is Delayed.NEAR for answer in answers.values())
        return count
