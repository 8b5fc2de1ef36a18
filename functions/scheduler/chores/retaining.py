"""Removes what the ledger has kept long enough."""

from datetime import timedelta

from functions.scheduler.chore import Chore
from taskmill.bootstrap import chores
from taskmill.core.counting import Count
from taskmill.ledger.retention import forget_old
from taskmill.platform import process


def _forget() -> int:
    bound = chores.retaining()
    removed = forget_old(bound.archive, keeps=bound.keeps)
    for kind, number in removed.items():
        process.counters().count(Count.RETAINED, number, kind=kind)
    return removed.total()


CHORE = Chore(name="forget_old", every=timedelta(minutes=1), do=_forget, is_slow=True)
