"""Runs the scheduler's function in a separate process.

`python a_scheduler.py <seconds>`; with `--still` it freezes where it was to crash. With
ROWS_AT_A_TIME in its environment, it relays and reconciles that many rows at a time; with
WORD_SECONDS, the nonce of its rebuild lives that long.
"""

import os
import signal
import sys
import time
from datetime import timedelta
from functools import cached_property

from msgspec.structs import replace

from functions.scheduler.handler import lambda_handler
from taskmill.platform import process
from taskmill.recovery import reconcile
from taskmill.settings import Settings
from taskmill.stores.patience import USUAL
from taskmill.stores.stores import Stores, Surroundings
from taskmill.submission import relay


class Context:
    def __init__(self, seconds):
        self._end = time.monotonic() + seconds

    def get_remaining_time_in_millis(self):
        return int(max(0.0, self._end - time.monotonic()) * 1000)


class PatientStores(Stores):
    """Stores whose rebuild nonce lives longer."""

    @cached_property
    def _kept(self):
        stays = timedelta(seconds=float(os.environ["WORD_SECONDS"]))
        kept = super()._kept
        return kept | {"lifetimes": replace(kept["lifetimes"], nonce_stays=stays)}


opened = {}


def patient_stores(name, *, needs, patience=USUAL):
    if name not in opened:
        settings = Settings.from_env(os.environ, needs=needs)
        around = Surroundings(
            clock=process.clock,
            pause=process.pause,
            entropy=process.entropy,
            counters=process.counters(),
            catalogue=process.catalogue,
        )
        opened[name] = PatientStores(settings, name=name, around=around, patience=patience)
    return opened[name]


def stand_still(_code):
    os.kill(os.getpid(), signal.SIGSTOP)


if "--still" in sys.argv:
    os._exit = stand_still
if "ROWS_AT_A_TIME" in os.environ:
    relay.ROWS_AT_A_TIME = reconcile.ROWS_AT_A_TIME = int(os.environ["ROWS_AT_A_TIME"])
if "WORD_SECONDS" in os.environ:
    process.PROVIDED["stores"] = patient_stores
lambda_handler({}, Context(float(sys.argv[1])))
