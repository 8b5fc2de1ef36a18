"""Runs tests in two processes: those that share the fault-test system, and all others.

Most of the time one of them waits for something that is late on purpose; meanwhile the other one
works.
"""

import os

from xdist import is_xdist_worker
from xdist.scheduler import LoadScopeScheduling

_SHARE_A_SYSTEM = "tests/faults/"
_NEED_NONE = "tests/faults/in_memory/"
_LAST = 19


def is_under_faults(nodeid):
    return nodeid.startswith(_SHARE_A_SYSTEM) and not nodeid.startswith(_NEED_NONE)


class Lanes(LoadScopeScheduling):
    """Run each group in one process, which starts shared fixtures once."""

    def _split_scope(self, nodeid):
        return "faults" if is_under_faults(nodeid) else "others"


def pytest_xdist_make_scheduler(config, log):
    return Lanes(config, log)


def pytest_runtest_setup(item):
    """Give precedence to fault tests, which measure delays."""
    if is_xdist_worker(item.session) and not is_under_faults(item.nodeid):
        os.setpriority(os.PRIO_PROCESS, 0, _LAST)
