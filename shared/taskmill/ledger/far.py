"""Brings far tasks near: out of the ledger, into the due set."""

from collections.abc import Sequence

from taskmill.core.task import Status
from taskmill.dispatch.ports import Delays
from taskmill.dispatch.waiting import Delayed, DelayOrder
from taskmill.ledger.projection import Row, envelope_of


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
