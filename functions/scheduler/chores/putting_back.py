"""Puts back what a newer version wrote before this one was deployed."""

from datetime import timedelta

from functions.scheduler.chore import Chore
from taskmill.bootstrap import chores
from taskmill.recovery.newer_versions import put_back


def _put_back() -> int:
    bound = chores.putting_back()
    return put_back(bound.newer_parcels, bound.bus)


CHORE = Chore(name="put_back_parcels", every=timedelta(seconds=10), do=_put_back, is_slow=True)
