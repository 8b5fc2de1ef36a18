"""Removes the records of finished tasks that have outlived their window."""

from datetime import timedelta

from functions.scheduler.chore import Chore
from taskmill.bootstrap import scheduler

MOST_PER_SHARD = 100


def _forget() -> int:
    return scheduler.services().due.forget_expired(most=MOST_PER_SHARD)


CHORE = Chore(name="forget_expired", every=timedelta(milliseconds=100), do=_forget)
