"""Returns batches of a newer version to their topics once this code can read them."""

from typing import Protocol

from taskmill.core import codec
from taskmill.core.ports import Bus
from taskmill.ledger.ports import NewerBatches

AT_A_TIME = 50


class ReturnStores(Protocol):
    """Ports for returning batches."""

    @property
    def bus(self) -> Bus: ...

    @property
    def newer_batches(self) -> NewerBatches: ...


class BatchReturn:
    def __init__(self, stores: ReturnStores) -> None:
        self._stores = stores

    def put_back(self, *, readable: int = codec.VERSION) -> int:
        """Publish batches that can be read by now, mark them, and return their number.

        After a death on any line batches are only published again, and every reader tolerates that.
        """
        bus = self._stores.bus
        with self._stores.newer_batches.held(readable=readable, most=AT_A_TIME) as hold:
            for batch in hold.batches:
                bus.send_batch(batch.place.topic, batch.value)
            if hold.batches:
                bus.flush()
                hold.mark_returned()
            return len(hold.batches)
