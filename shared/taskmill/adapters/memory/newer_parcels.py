"""The parcels of newer versions, in memory."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from taskmill.adapters.memory.ledger import MemoryLedger
from taskmill.domain.quarantine import PUT_BACK, Discard, KeptParcel, Place
from taskmill.ports.clock import Clock


class MemoryNewerParcels:
    def __init__(self, ledger: Callable[[], MemoryLedger], clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock
        self._held: set[Place] = set()

    @contextmanager
    def held(self, *, readable: int, most: int) -> Iterator["MemoryHeldParcels"]:
        ledger = self._ledger()
        ledger.ask()
        found = [
            KeptParcel(place=place, value=one.value)
            for one in ledger.quarantined.values()
            if one.version is not None
            and one.version <= readable
            and (place := Place(one.topic, one.partition, one.offset, one.member))
            not in ledger.discarded
            and place not in self._held
        ][:most]
        places = {parcel.place for parcel in found}
        self._held |= places
        held = MemoryHeldParcels(found)
        try:
            yield held
            ledger.ask()
            if held.is_returned:
                mark = Discard(at_ms=self._clock(), by=PUT_BACK)
                ledger.discarded |= dict.fromkeys(places, mark)
        finally:
            self._held -= places


class MemoryHeldParcels:
    def __init__(self, parcels: Sequence[KeptParcel]) -> None:
        self.parcels = parcels
        self.is_returned = False

    def mark_returned(self) -> None:
        self.is_returned = True
