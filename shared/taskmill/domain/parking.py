"""How long a task waits for a worker that takes its type."""

from datetime import timedelta
from enum import StrEnum

PATIENCE_WITH_A_TYPE = timedelta(minutes=10)
"""A rolling deployment may bring the worker; longer, and nobody will."""

PUT_IN_LINE_AGAIN_AFTER = timedelta(seconds=10)


class Parked(StrEnum):
    PARKED = "parked"
    """It is owed to `tasks.pending` after a while."""
    OVER = "over"
    """It waited long enough, or its life went on elsewhere: claim decides what becomes of it."""
    COLD = "cold"
