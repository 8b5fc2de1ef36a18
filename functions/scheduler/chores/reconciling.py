"""Compares the ledger with Redis, and mends what disagrees and does not pass."""

from datetime import timedelta

from functions.scheduler.chore import Chore
from taskmill.bootstrap import chores, process
from taskmill.domain.counting import Count
from taskmill.usecases.reconcile import reconcile


def _reconcile() -> int:
    mended = reconcile(chores.reconciler())
    for kind, number in mended.items():
        process.counters().count(Count.RECONCILED, number, kind=kind)
    return mended.total()


CHORE = Chore(name="reconcile", every=timedelta(minutes=1), do=_reconcile, is_slow=True)
