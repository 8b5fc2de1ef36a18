"""Takes submissions: admits each once, publishes all, then answers."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from msgspec.structs import replace

from taskmill.domain.admission import (
    AdmittedBefore,
    Cleared,
    Cold,
    Conflict,
    Created,
    Owed,
    OwedKey,
    OwedKind,
    Replayed,
    Verdict,
)
from taskmill.domain.errors import StoreUnavailable
from taskmill.domain.records import TaskView
from taskmill.domain.submission import (
    Accepted,
    KeyReused,
    NotConfirmed,
    Receipt,
    ReplayOf,
    Unreadable,
    view_of,
)
from taskmill.domain.task import Envelope, TaskId
from taskmill.ports import Admission, Bus, LedgerRows, Records


def submit(
    envelopes: Sequence[Envelope],
    *,
    admission: Admission,
    bus: Bus,
    records: Records,
    ledger: Callable[[], LedgerRows],
) -> list[Receipt]:
    """Return a receipt for each envelope; what is accepted stands in the log.

    The ledger is only opened when Redis cannot answer: most requests never need it.
    """
    intake = _Intake(admission, bus, records, ledger)
    for envelope, verdict in zip(envelopes, intake.verdicts(envelopes), strict=True):
        intake.weigh(envelope, verdict)
    intake.publish()
    return intake.receipts()


@dataclass(slots=True)
class _Item:
    id: TaskId
    published: Envelope | None = None
    owed: OwedKey | None = None
    receipt: Receipt | None = None


@dataclass(slots=True)
class _Intake:
    admission: Admission
    bus: Bus
    records: Records
    ledger: Callable[[], LedgerRows]
    items: list[_Item] = field(default_factory=list)

    def verdicts(self, envelopes: Sequence[Envelope]) -> Sequence[Verdict]:
        try:
            return self.admission.admit(envelopes)
        except StoreUnavailable:
            return [Cold()] * len(envelopes)

    def weigh(self, envelope: Envelope, verdict: Verdict) -> None:
        match verdict:
            case Created(generation) | AdmittedBefore(generation):
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
        """Ask the ledger about a key that Redis cannot answer for."""
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
            return self.ledger().fingerprint(envelope.id)
        except StoreUnavailable:
            return None

    def publish(self) -> None:
        waiting = [item for item in self.items if item.published is not None]
        try:
            self.bus.send_pending([item.published for item in waiting if item.published])
            self.bus.flush()
        except StoreUnavailable:
            for item in waiting:
                item.receipt = NotConfirmed()
            return
        self._clear([item for item in waiting if item.owed is not None])

    def _clear(self, items: Sequence[_Item]) -> None:
        try:
            cleared = self.admission.clear([item.owed for item in items if item.owed])
        except StoreUnavailable:
            cleared = [Cleared.COLD] * len(items)
        for item, answer in zip(items, cleared, strict=True):
            if isinstance(item.receipt, Accepted):
                is_deferred = answer is not Cleared.DONE
                item.receipt = Accepted(item.receipt.task, is_deferred=is_deferred)

    def receipts(self) -> list[Receipt]:
        replays = [item for item in self.items if item.receipt is None]
        for item, task in zip(replays, self._read(replays), strict=True):
            item.receipt = Unreadable() if task is None else ReplayOf(task)
        return [item.receipt for item in self.items if item.receipt is not None]

    def _read(self, items: Sequence[_Item]) -> Iterable[TaskView | None]:
        try:
            readings = self.records.read([item.id for item in items])
        except StoreUnavailable:
            readings = [Cold()] * len(items)
        for item, reading in zip(items, readings, strict=True):
            yield reading if isinstance(reading, TaskView) else self._read_ledger(item.id)

    def _read_ledger(self, task_id: TaskId) -> TaskView | None:
        try:
            return self.ledger().find(task_id)
        except StoreUnavailable:
            return None


def _own(envelope: Envelope, generation: int) -> _Item:
    admitted = replace(envelope, generation=generation)
    return _Item(
        envelope.id,
        published=admitted,
        owed=owed_submission(admitted),
        receipt=Accepted(view_of(admitted), is_deferred=False),
    )


def _replay(task_id: TaskId, owed: Owed | None) -> _Item:
    """Publish what the first request still owes: its author may be dead."""
    winner = owed.task if owed else None
    return _Item(task_id, published=winner, owed=owed_submission(winner) if winner else None)


def owed_submission(envelope: Envelope) -> OwedKey:
    return OwedKey(id=envelope.id, generation=envelope.generation, turn=1, kind=OwedKind.SUBMISSION)
