"""The quarantine in memory, for people."""

from collections.abc import Callable

from taskmill.adapters.memory.ledger import MemoryLedger
from taskmill.domain.projection import Quarantined
from taskmill.domain.quarantine import (
    AfterRecord,
    Discard,
    OpenedRecord,
    Place,
    QuarantinedRecord,
    QuarantinePage,
)


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

    def discard(self, place: Place, discard: Discard) -> QuarantinedRecord | None:
        if self.find(place) is not None:
            self._ledger().discarded.setdefault(place, discard)
        found = self.find(place)
        return found.record if found is not None else None

    def _records(self) -> list[QuarantinedRecord]:
        ledger = self._ledger()
        ledger.ask()
        return [_record(one, ledger.discarded) for one in ledger.quarantined.values()]


def _place(one: Quarantined) -> Place:
    return Place(one.topic, one.partition, one.offset, one.member)


def _record(one: Quarantined, discarded: dict[Place, Discard]) -> QuarantinedRecord:
    place = _place(one)
    return QuarantinedRecord(
        place=place,
        at_ms=one.at_ms,
        reason=one.reason,
        size=len(one.value),
        header_names=sorted(one.headers),
        discarded=discarded.get(place),
    )
