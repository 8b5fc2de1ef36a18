"""Brings tasks near that the ledger alone kept: what is due within ten minutes."""

from datetime import timedelta

from functions.scheduler.chore import Chore
from taskmill.bootstrap import chores
from taskmill.ledger.far import bring_near


def _bring_near() -> int:
    bound = chores.nearing()
    return bring_near(bound.far, bound.delays)


CHORE = Chore(name="bring_near", every=timedelta(seconds=2), do=_bring_near, is_slow=True)
