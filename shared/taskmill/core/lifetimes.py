"""Retention times and time limits."""

from datetime import timedelta
from enum import StrEnum
from typing import Final

from msgspec import Struct

from taskmill.core.time import FAR, FAR_RECORD, ORDER_STAYS

LEASE = timedelta(seconds=6)


HEARTBEAT = timedelta(seconds=2)


GRACE_AFTER_DEADLINE = timedelta(seconds=5)


KEY_WINDOW = timedelta(hours=72)
"""A key names its task for this long after submission, and never for less than its life."""

KEY_GRACE = timedelta(minutes=20)
"""A key names its task for at least this long after its end: longer than an invocation may last, so
that the record of a worker who died before it told the end comes again and finds it."""

UNKEYED_RECORD = timedelta(hours=2)
"""The record of a finished task without a key; then the ledger answers."""

HOLD = timedelta(seconds=5)
"""Who decided or took something has this long to publish it; then the scheduler does."""

ADOPTION_AGE = timedelta(hours=1)
"""A missing record is made anew for a generation that is younger than this."""

REBUILD_WORD = timedelta(seconds=20)
"""A rebuilder that said nothing for this long is followed by another; a statement may take half."""

LATE = timedelta(minutes=1)
"""A submission that reaches the ledger at this age is noted as unfinished at once."""

WINDOW_BEHIND = timedelta(minutes=3)
"""The window over unfinished tasks follows at this distance: behind every late one, and behind
nearly all that ends."""

SUBMISSION_IS_LOST = timedelta(hours=1)
"""Facts whose submission has not come for this long will hardly see it."""

LEDGER_DAYS = 30
"""How long the ledger keeps what has ended, unless a setting says otherwise."""

AT_LEAST_KEPT = timedelta(days=4)
"""Longer than a key's window: whoever repeats a request finds its task."""


class Kept(StrEnum):
    """What is kept for a time after its end."""

    TASKS = "tasks"
    HISTORY = "history"
    QUARANTINE = "quarantine"
    OUTBOX = "outbox"
    ENQUEUED = "enqueued"


class Lifetimes(Struct, frozen=True, kw_only=True):
    lease: timedelta = LEASE
    """Without a heartbeat a worker's right to run a turn ends after it."""

    hold: timedelta = HOLD
    """So long whoever took or owes something has for publishing it."""

    window: timedelta = KEY_WINDOW
    """So long a key is kept after its submission."""

    grace: timedelta = KEY_GRACE
    """So long a key is kept at least after the end of its task."""

    adoption_age: timedelta = ADOPTION_AGE
    """Up to this age a task without a record gets one again."""

    far: timedelta = FAR
    """What is due later than this is kept in the ledger alone."""

    order_stays: timedelta = ORDER_STAYS
    """So long the record of a far task is kept after it was changed or cancelled."""

    record_stays: timedelta = FAR_RECORD
    """So long the record of a task is kept whose time is far."""

    word_stays: timedelta = REBUILD_WORD
    """So long a rebuild is under way after its last sign of life."""


USUAL: Final = Lifetimes()
