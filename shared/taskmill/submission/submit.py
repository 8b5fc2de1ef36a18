"""Submits tasks: admits each once, publishes all or keeps them in the outbox, then answers."""

import logging
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Protocol, assert_never

from msgspec import Struct, field
from msgspec.structs import replace

from taskmill.core.errors import StoreUnavailable, Unpublishable
from taskmill.core.owed import Cleared, Cold, Owed, OwedKey
from taskmill.core.ports import Bus, Clock
from taskmill.core.task import Envelope, TaskId
from taskmill.core.time import in_ms
from taskmill.core.view import TaskView
from taskmill.submission.admission import AdmittedBefore, Conflict, Created, Replayed, Verdict
from taskmill.submission.ports import Admission, KnownTasks, Outbox, Records
from taskmill.submission.submission import (
    Accepted,
    KeyReused,
    NotConfirmed,
    NotTaken,
    Receipt,
    ReplayOf,
    Unreadable,
    of_the_first,
    own,
    verdicts_of,
    view_of,
)

LATEST_TO_SPILL = timedelta(seconds=3)
"""Time limit after admission: with the outbox's own limit it is less than a lease, for which the
rebuild of a shard waits for everything that was decided."""

_log = logging.getLogger("taskmill.submit")


class SubmitStores(Protocol):
    """Ports for submitting tasks."""

    @property
    def admission(self) -> Admission: ...

    @property
    def bus(self) -> Bus: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def ledger_rows(self) -> KnownTasks: ...

    @property
    def outbox(self) -> Outbox: ...

    @property
    def records(self) -> Records: ...


class Submitter:
    def __init__(self, stores: SubmitStores) -> None:
        self._stores = stores

    def submit(self, envelopes: Sequence[Envelope]) -> list[Receipt]:
        """Return a receipt for each envelope; an accepted one is in the log or in the outbox.

        PostgreSQL is only opened when Redis or the log is unavailable: most requests never need it.
        """
        intake = _Intake(self._stores)
        if not intake.has_way(len(envelopes)):
            return [NotTaken()] * len(envelopes)
        for envelope, verdict in zip(envelopes, intake.verdicts(envelopes), strict=True):
            intake.weigh(envelope, verdict)
        intake.publish()
        return intake.receipts()


class _Item(Struct):
    id: TaskId
    published: Envelope | None = None
    owed: OwedKey | None = None
    receipt: Receipt | None = None


class _Intake(Struct):
    stores: SubmitStores
    decided_ms: int = 0
    items: list[_Item] = field(default_factory=list)

    def has_way(self, count: int) -> bool:
        """Check before anything is decided: a later 503 could only mean that the result is unknown.

        A doubtful log is tested only if the outbox has no room: then nothing may be decided in the
        hope that the log responds.
        """
        if not self.stores.bus.is_in_doubt():
            return True
        return self._has_room(count) or self.stores.bus.answers()

    def _has_room(self, count: int) -> bool:
        try:
            return self.stores.outbox.has_room(count)
        except StoreUnavailable:
            return False

    def verdicts(self, envelopes: Sequence[Envelope]) -> Sequence[Verdict]:
        self.decided_ms = self.stores.clock()
        return verdicts_of(envelopes, self.stores.admission)

    def weigh(self, envelope: Envelope, verdict: Verdict) -> None:
        match verdict:
            case Created(generation) | AdmittedBefore(generation, _):
                self.items.append(_own(envelope, generation))
            case Replayed(_, owed):
                self.items.append(_replay(envelope.id, owed))
            case Conflict():
                self.items.append(_Item(envelope.id, receipt=KeyReused(envelope.id)))
            case Cold():
                self.items.append(self._deferred(envelope))
            case _:
                assert_never(verdict)

    def _deferred(self, envelope: Envelope) -> _Item:
        """Ask the outbox and the ledger about a key that Redis cannot answer for."""
        known = self._known(envelope)
        if known == envelope.fingerprint:
            return _Item(envelope.id)
        if known is not None:
            return _Item(envelope.id, receipt=KeyReused(envelope.id))
        marked = replace(envelope, deferred=True)
        return _Item(
            envelope.id, published=marked, receipt=Accepted(view_of(marked), is_deferred=True)
        )

    def _known(self, envelope: Envelope) -> str | None:
        if envelope.idempotency_key is None:
            return None
        try:
            unsent = self.stores.outbox.find(envelope.id)
            if isinstance(unsent, Envelope):
                return unsent.fingerprint
            return self.stores.ledger_rows.fingerprint(envelope.id)
        except StoreUnavailable:
            return None

    def publish(self) -> None:
        waiting = [item for item in self.items if item.published is not None]
        if not waiting:
            return
        envelopes = [item.published for item in waiting if item.published]
        try:
            is_spilled = not self._is_published(envelopes)
            if is_spilled:
                self._spill(envelopes)
        except StoreUnavailable:
            for item in waiting:
                item.receipt = NotConfirmed()
            return
        for item in waiting:
            if is_spilled and isinstance(item.receipt, Accepted):
                item.receipt = replace(item.receipt, is_spilled=True)
        self._clear([item for item in waiting if item.owed is not None])

    def _is_published(self, envelopes: Sequence[Envelope]) -> bool:
        if self.stores.bus.is_shut():
            return False
        try:
            self.stores.bus.send_pending(envelopes)
            self.stores.bus.flush()
        except (StoreUnavailable, Unpublishable) as error:  # the relay finds the refused one
            _log.warning("publish failed", extra={"store": error.store, "why": error.why})
            return False
        return True

    def _spill(self, envelopes: Sequence[Envelope]) -> None:
        """Keep in the outbox what the log did not accept; the row is then the owed message."""
        if self.stores.clock() - self.decided_ms > in_ms(LATEST_TO_SPILL):
            raise StoreUnavailable("the outbox", "the time is over: the scheduler publishes it")
        if not self.stores.outbox.has_room(len(envelopes)):
            raise StoreUnavailable("the outbox", "it is full")
        self.stores.outbox.add(envelopes)

    def _clear(self, items: Sequence[_Item]) -> None:
        try:
            answers = self.stores.admission.clear([item.owed for item in items if item.owed])
        except StoreUnavailable:
            answers = [Cleared.COLD] * len(items)
        for item, answer in zip(items, answers, strict=True):
            if answer is not Cleared.DONE and isinstance(item.receipt, Accepted):
                item.receipt = replace(item.receipt, is_deferred=True)

    def receipts(self) -> list[Receipt]:
        replays = [item for item in self.items if item.receipt is None]
        for item, task in zip(replays, self._read(replays), strict=True):
            item.receipt = Unreadable() if task is None else ReplayOf(task)
        return [item.receipt for item in self.items if item.receipt is not None]

    def _read(self, items: Sequence[_Item]) -> Iterable[TaskView | None]:
        try:
            readings = self.stores.records.read([item.id for item in items])
        except StoreUnavailable:
            readings = [Cold()] * len(items)
        for item, reading in zip(items, readings, strict=True):
            yield reading if isinstance(reading, TaskView) else self._read_cold(item.id)

    def _read_cold(self, task_id: TaskId) -> TaskView | None:
        try:
            unsent = self.stores.outbox.find(task_id)
            return (
                view_of(unsent)
                if isinstance(unsent, Envelope)
                else self.stores.ledger_rows.find(task_id)
            )
        except StoreUnavailable:
            return None


def _own(envelope: Envelope, generation: int) -> _Item:
    publication = own(envelope, generation)
    return _Item(
        envelope.id,
        published=publication.task,
        owed=publication.owed,
        receipt=Accepted(view_of(publication.task), is_deferred=False),
    )


def _replay(task_id: TaskId, owed: Owed | None) -> _Item:
    first = of_the_first(owed)
    return _Item(task_id, published=first.task, owed=first.owed) if first else _Item(task_id)
