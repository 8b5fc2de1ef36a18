"""Tells on standard error how far a measurement is."""

import sys


def say(what: str) -> None:
    sys.stderr.write(f"measuring: {what} …\n")
    sys.stderr.flush()
