"""Removes the records of finished tasks that have outlived their window."""

from datetime import timedelta

from functions.scheduler.chore import Chore
from taskmill.bootstrap import scheduler

MOST_PER_SHARD = 100
ROUNDS = 10


def _forget() -> int:
    forgotten = 0
    for _ in range(ROUNDS):
        count = scheduler.services().due.forget_expired(most=MOST_PER_SHARD)
        forgotten += count
        if count < MOST_PER_SHARD:  # then no shard had more
            break
    return forgotten


CHORE = Chore(name="forget_expired", every=timedelta(seconds=1), do=_forget)
