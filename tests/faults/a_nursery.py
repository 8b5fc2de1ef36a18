"""Forks schedulers that start at once: `python a_nursery.py <most per shard>`.

Each line of input starts one and names its crash point, or is empty; the output is its pid. At the
end of the input, all of them end.
"""

import os
import signal
import sys
import time
from importlib import import_module
from pkgutil import walk_packages

import taskmill.stores
from functions.scheduler.handler import lambda_handler
from taskmill.dispatch import due

SECONDS = 180.0


class Context:
    def __init__(self):
        self._end = time.monotonic() + SECONDS

    def get_remaining_time_in_millis(self):
        return int(max(0.0, self._end - time.monotonic()) * 1000)


def live(crash_at):
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.dup2(2, 1)  # what it counts goes to the log
    if crash_at:
        os.environ["TASKMILL_CRASH_AT"] = crash_at
    lambda_handler({}, Context())


for module in walk_packages(taskmill.stores.__path__, "taskmill.stores."):
    import_module(module.name)  # on its first use each would take its time
due.MOST_PER_SHARD = int(sys.argv[1])
signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how they ended
children = []
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        live(line.strip())
        os._exit(0)
    children.append(child)
    print(child, flush=True)  # noqa: T201 - the answer
for child in children:
    try:
        os.kill(child, signal.SIGKILL)
    except ProcessLookupError:
        continue
