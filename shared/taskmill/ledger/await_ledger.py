"""Read-your-writes: waits briefly until the ledger has caught up."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Final, TypeVar

from taskmill.core.ports import Pause
from taskmill.ledger.ports import LedgerRows

LONGEST_CATCH_UP: Final = timedelta(seconds=1.5)
"""How long a reader waits by default."""

_STEP: Final = timedelta(milliseconds=100)
F = TypeVar("F")


def await_ledger(
    look: Callable[[], F],
    *,
    is_behind: Callable[[F], bool],
    pause: Pause,
    within: timedelta = LONGEST_CATCH_UP,
) -> F:
    """Return the result of *look* once the ledger has caught up, or when the time is over."""
    waited = timedelta()
    answer = look()
    while waited < within and is_behind(answer):
        pause(_STEP)
        waited += _STEP
        answer = look()
    return answer


def has_reached(ledger: LedgerRows, ends: Mapping[tuple[str, int], int]) -> bool:
    """Return whether the ledger knows everything that was in the log when it had these ends."""
    applied = ledger.applied()
    return all(applied.get(place, 0) >= end for place, end in ends.items())
