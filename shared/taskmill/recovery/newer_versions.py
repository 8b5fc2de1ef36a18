"""Puts parcels that a newer version wrote back into their topics, once this code reads them."""

from typing import Protocol

from taskmill.core import codec
from taskmill.core.ports import Bus
from taskmill.ledger.ports import NewerParcels

AT_A_TIME = 50


class ReturnStores(Protocol):
    """The ports that putting parcels back uses."""

    @property
    def bus(self) -> Bus: ...

    @property
    def newer_parcels(self) -> NewerParcels: ...


class ParcelReturn:
    def __init__(self, stores: ReturnStores) -> None:
        self._stores = stores

    def put_back(self, *, readable: int = codec.VERSION) -> int:
        """Publish what can be read by now, mark it, and return how much that was.

        A death on any line only means that parcels are published again, and all that reads them is
        safe to repeat.
        """
        bus = self._stores.bus
        with self._stores.newer_parcels.held(readable=readable, most=AT_A_TIME) as held:
            for parcel in held.parcels:
                bus.send_parcel(parcel.place.topic, parcel.value)
            if held.parcels:
                bus.flush()
                held.mark_returned()
            return len(held.parcels)
