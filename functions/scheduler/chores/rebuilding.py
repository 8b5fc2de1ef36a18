"""Rebuilds the shards that forgot, or may have, from the ledger."""

from datetime import timedelta

from functions.scheduler.chore import Chore
from taskmill.bootstrap import chores
from taskmill.core.counting import Count
from taskmill.platform import process
from taskmill.recovery.rebuild import rebuild


def _rebuild() -> int:
    bound = chores.rebuilding()
    restored = rebuild(
        bound.shards,
        bound.sources,
        word=process.entropy().hex(),
        grace=bound.grace,
        clock=process.clock,
        pause=process.pause,
    )
    if restored:
        process.counters().count(Count.RESTORED, restored)
    return restored


CHORE = Chore(name="rebuild", every=timedelta(seconds=1), do=_rebuild, is_slow=True)
