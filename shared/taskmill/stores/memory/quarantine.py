"""The quarantine and the batches of newer versions, in memory."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from taskmill.core.ports import Clock
from taskmill.core.refusal import Dismissal
from taskmill.ledger.projection import Quarantined
from taskmill.ledger.quarantine import (
    PUT_BACK,
    AfterRecord,
    KeptBatch,
    OpenedRecord,
    Place,
    QuarantinedRecord,
    QuarantinePage,
)
from taskmill.stores.memory.ledger import MemoryLedger


class MemoryQuarantine:
    def __init__(self, ledger: Callable[[], MemoryLedger]) -> None:
        self._ledger = ledger

    def page(self, *, is_discarded: bool, after: AfterRecord | None, limit: int) -> QuarantinePage:
        records = [
            record
            for record in self._records()
            if (record.discarded is not None) == is_discarded
            and (after is None or (record.at_ms, record.place) < (after.at_ms, after.place))
        ]
        records.sort(key=lambda one: (one.at_ms, one.place), reverse=True)
        last = records[limit - 1] if len(records) > limit else None
        return QuarantinePage(
            records[:limit], AfterRecord(last.at_ms, last.place) if last else None
        )

    def find(self, place: Place) -> OpenedRecord | None:
        ledger = self._ledger()
        ledger.ask()
        for one in ledger.quarantined.values():
            if _place(one) == place:
                record = _record(one, ledger.discarded)
                return OpenedRecord(record=record, value=one.value, headers=one.headers)
        return None

    def discard(self, place: Place, discard: Dismissal) -> QuarantinedRecord | None:
        if self.find(place) is not None:
            self._ledger().discarded.setdefault(place, discard)
        entry = self.find(place)
        return entry.record if entry is not None else None

    def _records(self) -> list[QuarantinedRecord]:
        ledger = self._ledger()
        ledger.ask()
        return [_record(one, ledger.discarded) for one in ledger.quarantined.values()]


def _place(one: Quarantined) -> Place:
    return Place(one.topic, one.partition, one.offset, one.member)


def _record(one: Quarantined, discarded: dict[Place, Dismissal]) -> QuarantinedRecord:
    place = _place(one)
    return QuarantinedRecord(
        place=place,
        at_ms=one.at_ms,
        reason=one.reason,
        size=len(one.value),
        header_names=sorted(one.headers),
        discarded=discarded.get(place),
    )


class MemoryNewerBatches:
    def __init__(self, ledger: Callable[[], MemoryLedger], clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock
        self._held: set[Place] = set()

    @contextmanager
    def held(self, *, readable: int, most: int) -> Iterator["MemoryHeldBatches"]:
        ledger = self._ledger()
        ledger.ask()
        batches = [
            KeptBatch(place=place, value=one.value)
            for one in ledger.quarantined.values()
            if one.version is not None
            and one.version <= readable
            and (place := Place(one.topic, one.partition, one.offset, one.member))
            not in ledger.discarded
            and place not in self._held
        ][:most]
        places = {batch.place for batch in batches}
        self._held |= places
        hold = MemoryHeldBatches(batches)
        try:
            yield hold
            ledger.ask()
            if hold.is_returned:
                mark = Dismissal(at_ms=self._clock(), by=PUT_BACK)
                ledger.discarded |= dict.fromkeys(places, mark)
        finally:
            self._held -= places


class MemoryHeldBatches:
    def __init__(self, batches: Sequence[KeptBatch]) -> None:
        self.batches = batches
        self.is_returned = False

    def mark_returned(self) -> None:
        self.is_returned = True
