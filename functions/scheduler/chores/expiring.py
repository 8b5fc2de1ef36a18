"""Ends tasks that had to begin by a time and have not."""

from datetime import timedelta

from functions.scheduler.chore import Chore
from taskmill.bootstrap import chores
from taskmill.ledger.far import load
from taskmill.orders.expire import expire


def _expire() -> int:
    bound = chores.expiring()
    return expire(
        bound.expiries,
        control=bound.control,
        admission=bound.admission,
        bus=bound.bus,
        load=lambda ids: load(bound.rows.of(ids), bound.delays),
    )


CHORE = Chore(name="expire", every=timedelta(seconds=1), do=_expire, is_slow=True)
