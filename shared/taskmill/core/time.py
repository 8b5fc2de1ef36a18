"""Spans and moments: when a task is due, and when it is too late to begin it."""

from datetime import UTC, datetime, timedelta

from msgspec import Struct

from taskmill.core.task import Envelope, Millis, TaskId, Timing

_MILLISECOND = timedelta(milliseconds=1)


def in_ms(span: timedelta) -> int:
    return span // _MILLISECOND


FAR = timedelta(minutes=10)
"""What is due further ahead than this is kept in the ledger alone until its time comes near."""

FAR_RECORD = timedelta(hours=1)
"""How long the record of such a task is kept for readers; of a keyed one, what the key needs stays.
Not shorter than the age up to which a missing record is made anew by claim."""

ORDER_STAYS = timedelta(days=1)
"""How long the record of a scheduled task is kept at least that was changed, cancelled or ended: a
ledger that is behind by less hears of it before the record ends, and brings nothing near that is
over."""

EXPIRED = "expired"
"""The reason of a task that is dead because it could not begin in time."""

EXPIRED_CLASS = "Expired"

LONGEST_DELAY = timedelta(days=400)


def due_ms(timing: Timing | None, *, generation: int, created_at_ms: Millis) -> Millis | None:
    """Return when a task may begin; None: at once."""
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
    """Tell whether its turn began with a wait. Nobody's clock decides that, but what it says."""
    due = due_of(envelope)
    return due is not None and _is_said_of_its_turn(envelope) and due > said_ms(envelope)


def is_far(envelope: Envelope) -> bool:
    """Tell whether only the ledger keeps it: for all who read it the same, whenever they do.

    What waits for its worker has come near before.
    """
    due = due_of(envelope)
    if due is None or envelope.parked_until_ms is not None:
        return False
    return is_delayed(envelope) and due - said_ms(envelope) > in_ms(FAR)


def said_ms(envelope: Envelope) -> int:
    """Return when its time was said, by the clock of Redis as soon as that is known."""
    said = envelope.timing.said_ms if envelope.timing else None
    return said or envelope.generation or envelope.created_at_ms


def expires_ms(envelope: Envelope) -> Millis | None:
    """Return until when its turn must have begun, if that was said."""
    return latest_start(envelope.timing, turn=envelope.turn)


def latest_start(timing: Timing | None, *, turn: int) -> Millis | None:
    return None if timing is None or timing.turn != turn else timing.expires_at_ms


def why_expired(latest_ms: Millis) -> str:
    latest = datetime.fromtimestamp(latest_ms / 1000, UTC).isoformat(timespec="milliseconds")
    return f"it had to begin by {latest}, and did not"


def _is_said_of_its_turn(envelope: Envelope) -> bool:
    return envelope.timing is not None and envelope.timing.turn == envelope.turn


class Expiry(Struct, frozen=True, kw_only=True):
    """Until when a task must have begun, as the ledger has it."""

    id: TaskId
    expires_at_ms: Millis
