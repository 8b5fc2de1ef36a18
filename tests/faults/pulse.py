"""Tells a machine that stood still from a system that did: no lease lasts through the former."""

import time
from threading import Event, Thread

_BEAT_SECONDS = 0.05


class Pulse:
    """Beats while a test is at work; `longest_seconds` is the longest pause between two beats."""

    def __init__(self):
        self.longest_seconds = self._last = 0.0
        self._is_over = Event()
        self._thread = Thread(target=self._beat)

    def __enter__(self):
        self._last = time.time()
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._is_over.set()
        self._thread.join()

    def _beat(self):
        """Go by the clock that leases go by."""
        is_over = False
        while not is_over:
            is_over = self._is_over.wait(_BEAT_SECONDS)
            now = time.time()
            self.longest_seconds = max(self.longest_seconds, now - self._last)
            self._last = now
