"""Ends a process in which no thread gets to run: a call into C may hold the interpreter lock."""

import faulthandler
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

USUAL = timedelta(seconds=30)
"""Several leases: by then other processes run what this one ran."""


class Watchdog:
    """Its timer needs no interpreter lock. Before the process ends, all stacks go to its log."""

    def __init__(self, patience: timedelta = USUAL) -> None:
        self._seconds = patience.total_seconds()

    @contextmanager
    def on_duty(self) -> Iterator[None]:
        """Watch for as long as an invocation lasts: between two the process may be frozen."""
        self.reassure()
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()

    def reassure(self) -> None:
        """Show that the process still works; call it with each heartbeat."""
        faulthandler.dump_traceback_later(self._seconds, exit=True)
