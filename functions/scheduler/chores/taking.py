"""Makes tasks of the requests that were enqueued inside their callers' transactions."""

from datetime import timedelta

from functions.scheduler.chore import Chore
from taskmill.bootstrap import blobs, chores
from taskmill.submission.enqueue import take_requests, take_up_known


def _take() -> int:
    return take_requests(chores.taking(), blobs=blobs.at_the_door)


def _take_up() -> int:
    bound = chores.taking_up()
    return take_up_known(bound.requests, bound.catalogue)


TAKE = Chore(name="take_requests", every=timedelta(milliseconds=50), do=_take, is_slow=True)
"""Its end is seen at a tick: so it looks every 100 ms as a rule, and two schedulers do."""

TAKE_UP = Chore(name="take_up_requests", every=timedelta(seconds=10), do=_take_up, is_slow=True)
