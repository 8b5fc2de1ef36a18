"""Exit codes of the command."""

from enum import IntEnum


class Exit(IntEnum):
    DONE = 0
    OTHERWISE = 1
    """A task did not succeed, or does not exist."""

    USAGE = 2
    UNAVAILABLE = 3
    """The system cannot be reached or could not start."""

    INTERRUPTED = 130
