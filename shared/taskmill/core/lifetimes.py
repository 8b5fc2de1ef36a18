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
"""A key identifies its task for this long after submission, and at least until its end."""

KEY_GRACE = timedelta(minutes=20)
"""A key identifies its task for at least this long after its end: longer than any invocation, so
that the end that a worker did not report before it died is still found."""

UNKEYED_RECORD = timedelta(hours=2)
"""How long Redis keeps the record of a finished task without a key; then the ledger answers."""

ENDS_SOON = timedelta(minutes=10)
"""A record that lasts less long than this, and whose end may not be in the log, is kept longer."""

END_STAYS = timedelta(hours=1)
"""How long it is kept then, each time that it is looked at: the log may be away for hours."""

HOLD = timedelta(seconds=5)
"""How long a process may take to publish what it decided or took; then the scheduler does it."""

ADOPTION_AGE = timedelta(hours=1)
"""A missing record is recreated for generations younger than this."""

REBUILD_NONCE = timedelta(seconds=20)
"""A rebuild that shows no progress for this long is taken over; a statement may take half of it."""

LATE = timedelta(minutes=1)
"""A submission this old when it reaches the ledger is noted as unfinished at once."""

WINDOW_BEHIND = timedelta(minutes=3)
"""The window over unfinished tasks lags by this much: after every late one and after nearly all
tasks that end."""

SUBMISSION_IS_LOST = timedelta(hours=1)
"""Facts without a submission for this long will hardly ever get one."""

LEDGER_DAYS = 30
"""How long the ledger keeps ended tasks unless a setting says otherwise."""

AT_LEAST_KEPT = timedelta(days=4)
"""Longer than a key's window, so that a repeated request finds its task."""


class Kept(StrEnum):
    """Data that is deleted some time after its end."""

    TASKS = "tasks"
    HISTORY = "history"
    QUARANTINE = "quarantine"
    OUTBOX = "outbox"
    ENQUEUED = "enqueued"


class Lifetimes(Struct, frozen=True, kw_only=True):
    lease: timedelta = LEASE
    """A worker loses its right to run a turn after this long without a heartbeat."""

    hold: timedelta = HOLD
    """How long a process may take to publish what it took or owes."""

    window: timedelta = KEY_WINDOW
    """How long a key is kept after its submission."""

    grace: timedelta = KEY_GRACE
    """How long a key is kept at least after the end of its task."""

    adoption_age: timedelta = ADOPTION_AGE
    """Up to this age a task without a record gets a new one."""

    far: timedelta = FAR
    """Tasks due later than this are kept only in the ledger."""

    order_stays: timedelta = ORDER_STAYS
    """How long the record of a far task is kept after it was changed or cancelled."""

    record_stays: timedelta = FAR_RECORD
    """How long the record of a far task is kept."""

    nonce_stays: timedelta = REBUILD_NONCE
    """How long a rebuild counts as running after its last sign of life."""


USUAL: Final = Lifetimes()
