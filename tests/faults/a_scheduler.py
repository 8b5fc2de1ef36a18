"""Runs the scheduler's function as a process of a test's own.

`python a_scheduler.py <seconds>`; with `--still` behind it, it stands still where it was to die.
With ROWS_AT_A_TIME in its environment, it relays and reconciles so many at a time; with
WORD_SECONDS, its word in a rebuild stays so long behind it.
"""

import os
import signal
import sys
import time
from datetime import timedelta

from msgspec.structs import replace

from functions.scheduler.handler import lambda_handler
from taskmill.recovery import reconcile
from taskmill.stores.redis import recovery
from taskmill.submission import relay


class Context:
    def __init__(self, seconds):
        self._end = time.monotonic() + seconds

    def get_remaining_time_in_millis(self):
        return int(max(0.0, self._end - time.monotonic()) * 1000)


def stand_still(_code):
    os.kill(os.getpid(), signal.SIGSTOP)


if "--still" in sys.argv:
    os._exit = stand_still
if "ROWS_AT_A_TIME" in os.environ:
    relay.ROWS_AT_A_TIME = reconcile.ROWS_AT_A_TIME = int(os.environ["ROWS_AT_A_TIME"])
if "WORD_SECONDS" in os.environ:
    stays = timedelta(seconds=float(os.environ["WORD_SECONDS"]))
    open_shards = recovery.RedisColdShards
    recovery.RedisColdShards = lambda session, *, shards, lifetimes: open_shards(
        session, shards=shards, lifetimes=replace(lifetimes, word_stays=stays)
    )
lambda_handler({}, Context(float(sys.argv[1])))
