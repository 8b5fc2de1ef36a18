"""Runs the scheduler's function as a process of a test's own: `python a_scheduler.py <seconds>`."""

import sys
import time

from functions.scheduler.handler import lambda_handler


class Context:
    def __init__(self, seconds):
        self._end = time.monotonic() + seconds

    def get_remaining_time_in_millis(self):
        return int(max(0.0, self._end - time.monotonic()) * 1000)


lambda_handler({}, Context(float(sys.argv[1])))
