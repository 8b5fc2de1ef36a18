"""Removes what has been kept long enough, a bounded part at a time."""

from collections import Counter
from datetime import timedelta

from taskmill.core.lifetimes import Kept
from taskmill.ledger.ports import Archive

_AT_A_TIME = 2_000
_MOST_TIMES = 50
_MONTHS_AHEAD = 3


def forget_old(archive: Archive, *, keeps: timedelta) -> Counter[Kept]:
    """Return how much of each kind was removed; safe beside another, and after a death anywhere."""
    archive.make_months(ahead=_MONTHS_AHEAD)
    removed: Counter[Kept] = Counter()
    for kind in Kept:
        for _ in range(_MOST_TIMES):
            number = archive.forget(kind, older_than=keeps, most=_AT_A_TIME)
            removed[kind] += number
            if number < _AT_A_TIME:
                break
    return +removed
