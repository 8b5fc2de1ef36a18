"""Reports the progress of a measurement on standard error."""

import sys


def say(what: str) -> None:
    sys.stderr.write(f"measuring: {what} …\n")
    sys.stderr.flush()
