"""Puts parcels that a newer version wrote back into their topics, once this code reads them."""

from taskmill.core import codec
from taskmill.core.ports import Bus
from taskmill.ledger.ports import NewerParcels

AT_A_TIME = 50


def put_back(parcels: NewerParcels, bus: Bus, *, readable: int = codec.VERSION) -> int:
    """Publish what can be read by now, mark it, and return how much that was.

    A death on any line only means that parcels are published again, and all that reads them is
    safe to repeat.
    """
    with parcels.held(readable=readable, most=AT_A_TIME) as held:
        for parcel in held.parcels:
            bus.send_parcel(parcel.place.topic, parcel.value)
        if held.parcels:
            bus.flush()
            held.mark_returned()
        return len(held.parcels)
