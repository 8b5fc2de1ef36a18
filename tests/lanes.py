"""Tests run in two lanes side by side: those that share the system under faults, and all others.

Most of the time one of them waits for what is late on purpose; meanwhile the other one works.
"""

from xdist.scheduler import LoadScopeScheduling

SHARE_A_SYSTEM = "tests/faults/"
NEED_NONE = "tests/faults/in_memory/"


class Lanes(LoadScopeScheduling):
    """Let one process run each lane: it starts once what its tests share."""

    def _split_scope(self, nodeid):
        shares = nodeid.startswith(SHARE_A_SYSTEM) and not nodeid.startswith(NEED_NONE)
        return "faults" if shares else "others"


def pytest_xdist_make_scheduler(config, log):
    return Lanes(config, log)
