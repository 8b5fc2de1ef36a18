"""What a row of the ledger says about the hot state of its task."""

from enum import StrEnum

from msgspec import Struct

from taskmill.domain.admission import Owed, OwedKey, OwedKind
from taskmill.domain.delay import FAR
from taskmill.domain.lease import Ending, Waiting
from taskmill.domain.projection import Body, Row
from taskmill.domain.retention import in_ms
from taskmill.domain.task import Envelope, Millis, Status


class Restoration(StrEnum):
    RESTORED = "restored"
    KEPT = "kept"
    """The server had more than the ledger."""
    START_AGAIN = "start again"
    """The server was emptied or replaced meanwhile, or another one opened the shard."""


class HotView(Struct, frozen=True, kw_only=True):
    """The record that a row stands for, and what its next turn is owed."""

    row: Row
    envelope: Envelope
    """The task in line, in the turn that the record is in."""
    waiting: Waiting | None
    ending: Ending | None
    is_far: bool = False
    """True when the ledger alone keeps it by now."""

    @property
    def due_at_ms(self) -> Millis | None:
        """Return when its turn is due, if it waits for a time."""
        if self.row.status is Status.SCHEDULED:
            return self.row.due_at_ms
        return None if self.waiting is None else self.waiting.due_at_ms

    @property
    def name(self) -> OwedKey:
        task = self.envelope
        return OwedKey(id=task.id, generation=task.generation, turn=task.turn, kind=OwedKind.TURN)

    @property
    def owed(self) -> Owed:
        """What the next turn is owed; the facts before it stand in the log: the ledger has them."""
        return Owed(task=self.envelope)


def hot_view(row: Row, body: Body, *, is_far: bool = False) -> HotView:
    return HotView(
        row=row,
        envelope=envelope_of(row, body),
        waiting=waiting_of(row),
        ending=ending_of(row),
        is_far=is_far,
    )


def envelope_of(row: Row, body: Body) -> Envelope:
    """Return the task in line, as it was or will be published for the turn that it is in."""
    is_retrying = row.status is Status.RETRYING
    return Envelope(
        generation=row.generation,
        id=row.id,
        turn=row.turn + is_retrying,
        attempt=(row.next_attempt or row.attempt) if is_retrying else row.attempt,
        submission=body.submission,
        submitted=body.submitted,
        type=row.type,
        tenant=row.tenant,
        payload=body.payload,
        payload_ref=body.payload_ref,
        fingerprint=body.fingerprint,
        idempotency_key=body.idempotency_key,
        created_at_ms=body.created_at_ms,
        max_attempts=body.max_attempts,
        timeout_seconds=body.timeout_seconds,
        metadata=body.metadata,
        retry=body.retry,
        timing=body.timing,
    )


def waits_far(row: Row, now: Millis) -> bool:
    """Tell whether the ledger alone keeps it by now."""
    is_scheduled = row.status is Status.SCHEDULED and row.due_at_ms is not None
    return is_scheduled and (row.due_at_ms or 0) - now > in_ms(FAR)


def waiting_of(row: Row) -> Waiting | None:
    if row.status is not Status.RETRYING or row.due_at_ms is None:
        return None
    return Waiting(
        due_at_ms=row.due_at_ms,
        reason=row.reason or "",
        error_class=row.error_class,
        error_message=row.error_message,
    )


def ending_of(row: Row) -> Ending | None:
    if row.finished_at_ms is None:
        return None
    return Ending(
        finished_at_ms=row.finished_at_ms,
        reason=row.reason,
        error_class=row.error_class,
        error_message=row.error_message,
        result_ref=row.result_ref,
    )
