"""Compares the ledger with the log and with Redis, and mends what does not pass."""

from datetime import timedelta

from functions.scheduler.chore import Chore
from taskmill.bootstrap import chores
from taskmill.core.counting import Count, topic_label
from taskmill.platform import process
from taskmill.recovery.log_gaps import step_over
from taskmill.recovery.reconcile import reconcile, unsubmitted


def _reconcile() -> int:
    """Begin with what needs no Redis: a rebuild waits for the ledger."""
    reconciler, counters = chores.reconciler(), process.counters()
    books = reconciler.books
    for gap in step_over(books.readers, books.rows, books.ledger, reconciler.stepped):
        counters.count(Count.GAPS, topic=topic_label(gap.topic))
    counters.count(Count.UNSUBMITTED, len(unsubmitted(books.standings)))
    mended = reconcile(reconciler)
    for kind, number in mended.items():
        counters.count(Count.RECONCILED, number, kind=kind)
    return mended.total()


CHORE = Chore(name="reconcile", every=timedelta(minutes=1), do=_reconcile, is_slow=True)
