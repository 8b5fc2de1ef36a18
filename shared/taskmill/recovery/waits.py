"""What a rebuild waits for; at each step it looks whether it still goes on."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Final

from taskmill.core.ports import Clock, Pause
from taskmill.ledger.ports import WholeRows

_STEP: Final = timedelta(milliseconds=250)


def wait_until(moment_ms: int, *, clock: Clock, pause: Pause, goes_on: Callable[[], bool]) -> None:
    while clock() < moment_ms and goes_on():
        pause(_STEP)


def wait_for_ledger(
    rows: WholeRows,
    ends: Mapping[tuple[str, int], int],
    *,
    pause: Pause,
    goes_on: Callable[[], bool] = lambda: True,
) -> None:
    """Wait until the ledger has applied the log up to its *ends*."""
    while not _has_applied(rows, ends) and goes_on():
        pause(_STEP)


def _has_applied(rows: WholeRows, ends: Mapping[tuple[str, int], int]) -> bool:
    applied = rows.applied()
    return all(applied.get(place, 0) >= end for place, end in ends.items())
