"""Rebuilds the shards that forgot, or may have, from the ledger."""

from datetime import timedelta

from functions.scheduler.chore import Chore
from taskmill import bootstrap
from taskmill.domain.counting import Count
from taskmill.usecases.rebuild import rebuild


def _rebuild() -> int:
    bound = bootstrap.rebuilding()
    restored = rebuild(
        bound.shards,
        bound.sources,
        word=bootstrap.entropy().hex(),
        grace=bound.grace,
        clock=bootstrap.clock,
        pause=bootstrap.pause,
    )
    if restored:
        bootstrap.counters().count(Count.RESTORED, restored)
    return restored


CHORE = Chore(name="rebuild", every=timedelta(seconds=1), do=_rebuild, is_slow=True)
