"""Removes the records of finished tasks that have outlived their window."""

from datetime import timedelta

from functions.scheduler.chore import Chore
from taskmill import bootstrap

MOST_PER_SHARD = 100


def _forget() -> int:
    return bootstrap.scheduler().due.forget_expired(most=MOST_PER_SHARD)


CHORE = Chore(name="forget_expired", every=timedelta(milliseconds=100), do=_forget)
