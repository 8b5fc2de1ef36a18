"""Removes what the ledger has kept long enough."""

from datetime import timedelta

from functions.scheduler.chore import Chore
from taskmill.bootstrap import chores, process
from taskmill.domain.counting import Count
from taskmill.usecases.forget_old import forget_old


def _forget() -> int:
    bound = chores.retaining()
    removed = forget_old(bound.archive, keeps=bound.keeps)
    for kind, number in removed.items():
        process.counters().count(Count.RETAINED, number, kind=kind)
    return removed.total()


CHORE = Chore(name="forget_old", every=timedelta(minutes=1), do=_forget, is_slow=True)
