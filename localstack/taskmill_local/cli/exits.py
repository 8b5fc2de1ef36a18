"""Exit codes of the command."""

from enum import IntEnum


class Exit(IntEnum):
    DONE = 0
    OTHERWISE = 1
    """A task ended other than it should, or is not there."""

    USAGE = 2
    UNAVAILABLE = 3
    """The system cannot be reached or could not start."""

    INTERRUPTED = 130
