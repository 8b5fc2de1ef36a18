"""Runs a worker's function in a separate process: `python a_worker.py <type> <seconds>`.

It reads the event from standard input, and writes the response to standard output.
"""

import json
import os
import resource
import sys
import time
from importlib import import_module


class Context:
    aws_request_id = "a test's own"

    def __init__(self, seconds):
        self._end = time.monotonic() + seconds

    def get_remaining_time_in_millis(self):
        return int(max(0.0, self._end - time.monotonic()) * 1000)


if "A_FULL_DISK" in os.environ:
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
worker = import_module(f"functions.workers.{sys.argv[1]}.handler").lambda_handler
event = json.load(sys.stdin)
answer = worker(event, Context(float(sys.argv[2])))
print(f"answer {json.dumps(answer)}")  # noqa: T201 - counts go the same way
