"""Spans and moments: when a task is due, and when it is too late to begin it."""

from datetime import UTC, datetime, timedelta

from msgspec import Struct

from taskmill.core.task import Envelope, Millis, TaskId, Timing

_MILLISECOND = timedelta(milliseconds=1)


def in_ms(span: timedelta) -> int:
    return span // _MILLISECOND


FAR = timedelta(minutes=10)
"""A task due further ahead than this is kept only in the ledger until its time comes near."""

FAR_RECORD = timedelta(hours=1)
"""How long readers find the record of such a task; a key keeps what it needs for longer. Not
shorter than the age up to which claim recreates a missing record."""

ORDER_STAYS = timedelta(days=1)
"""How long the record of a changed, cancelled or ended scheduled task is kept at least: a ledger
that lags by less learns of it before the record expires, and does not bring an ended task near."""

EXPIRED = "expired"
"""The reason of a task that died because it could not start in time."""

EXPIRED_CLASS = "Expired"

LONGEST_DELAY = timedelta(days=400)

LONGEST_TIMEOUT = timedelta(seconds=800)
"""The limit of every type: an invocation lasts 840 s at most, and reports its tasks in the rest."""


def due_ms(timing: Timing | None, *, generation: int, created_at_ms: Millis) -> Millis | None:
    """Return when a task may start; None means at once."""
    if timing is None:
        return None
    if timing.delay_ms is not None:
        return Millis((generation or created_at_ms) + timing.delay_ms)
    return timing.run_at_ms


def due_of(envelope: Envelope) -> Millis | None:
    return due_ms(
        envelope.timing,
        generation=envelope.generation,
        created_at_ms=envelope.created_at_ms,
    )


def is_delayed(envelope: Envelope) -> bool:
    """Return whether the turn began with a wait: its own data decides that, not a clock."""
    due = due_of(envelope)
    return due is not None and _is_of_its_turn(envelope) and due > said_ms(envelope)


def is_far(envelope: Envelope) -> bool:
    """Return whether only the ledger keeps it; every reader gets the same answer at any time.

    A task waiting for its worker has already come near.
    """
    due = due_of(envelope)
    if due is None or envelope.parked_until_ms is not None:
        return False
    return is_delayed(envelope) and due - said_ms(envelope) > in_ms(FAR)


def said_ms(envelope: Envelope) -> int:
    """Return when its timing was set, by the clock of Redis once that is known."""
    stated_ms = envelope.timing.said_ms if envelope.timing else None
    return stated_ms or envelope.generation or envelope.created_at_ms


def expires_ms(envelope: Envelope) -> Millis | None:
    """Return the latest time at which its turn must have started, if there is one."""
    return latest_start(envelope.timing, turn=envelope.turn)


def latest_start(timing: Timing | None, *, turn: int) -> Millis | None:
    return None if timing is None or timing.turn != turn else timing.expires_at_ms


def why_expired(latest_ms: Millis) -> str:
    latest = datetime.fromtimestamp(latest_ms / 1000, UTC).isoformat(timespec="milliseconds")
    return f"it did not start by {latest}"


def _is_of_its_turn(envelope: Envelope) -> bool:
    return envelope.timing is not None and envelope.timing.turn == envelope.turn


class Expiry(Struct, frozen=True, kw_only=True):
    """The latest time at which a task must have started, as the ledger has it."""

    id: TaskId
    expires_at_ms: Millis
