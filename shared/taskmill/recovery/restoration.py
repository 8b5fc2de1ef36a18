"""Restores the hot state of a task from its ledger row."""

from enum import StrEnum

from msgspec import Struct

from taskmill.core.owed import Owed, OwedKey, OwedKind
from taskmill.core.task import Envelope, Millis, ShownSpec, Spec, Status
from taskmill.core.time import FAR, in_ms
from taskmill.core.view import Ending, TaskView, Waiting
from taskmill.ledger.projection import Row, envelope_of


class Restoration(StrEnum):
    RESTORED = "restored"
    KEPT = "kept"
    """The server was ahead of the ledger."""
    START_AGAIN = "start again"
    """The server was emptied or replaced meanwhile, or another process opened the shard."""


class HotView(Struct, frozen=True, kw_only=True):
    """The record for a row, and the messages that its next turn is owed."""

    row: Row
    envelope: Envelope
    """The envelope for the record's turn."""
    waiting: Waiting | None
    ending: Ending | None
    is_far: bool = False
    """True when only the ledger keeps it by now."""

    @property
    def due_at_ms(self) -> Millis | None:
        """When its turn is due, if it waits for a time."""
        if self.row.status is Status.SCHEDULED:
            return self.row.due_at_ms
        return None if self.waiting is None else self.waiting.due_at_ms

    @property
    def name(self) -> OwedKey:
        task = self.envelope
        return OwedKey(id=task.id, generation=task.generation, turn=task.turn, kind=OwedKind.TURN)

    @property
    def owed(self) -> Owed:
        """Messages of the next turn; earlier facts are in the log, since the ledger has them."""
        return Owed(task=self.envelope)


def hot_view(row: Row, spec: Spec, *, is_far: bool = False) -> HotView:
    return HotView(
        row=row,
        envelope=envelope_of(row, spec),
        waiting=waiting_of(row),
        ending=ending_of(row),
        is_far=is_far,
    )


def task_view(row: Row, spec: ShownSpec) -> TaskView:
    """Return the row as readers see it."""
    return TaskView(
        id=row.id,
        spec=spec,
        status=row.status,
        generation=row.generation,
        attempt=row.attempt,
        losses=row.losses,
        started_at_ms=row.started_at_ms,
        ending=ending_of(row),
        result=row.result,
        waiting=waiting_of(row),
        cancel_requested=row.cancel_requested,
        first_started_at_ms=row.first_started_at_ms,
    )


def waits_far(row: Row, now: Millis) -> bool:
    """Return whether only the ledger keeps it by now."""
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
        stack=row.stack,
    )


def ending_of(row: Row) -> Ending | None:
    if row.finished_at_ms is None:
        return None
    return Ending(
        finished_at_ms=row.finished_at_ms,
        reason=row.reason,
        error_class=row.error_class,
        error_message=row.error_message,
        stack=row.stack,
        result_ref=row.result_ref,
    )
