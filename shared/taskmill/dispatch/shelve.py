"""Shelves tasks whose lines are full: from then on only the ledger keeps them."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Final, Protocol

from taskmill.core.errors import StoreUnavailable
from taskmill.core.facts import TaskShelved
from taskmill.core.ports import Bus
from taskmill.core.task import Envelope
from taskmill.core.time import FAR_RECORD
from taskmill.dispatch.ports import ShelvedRecords
from taskmill.lanes.lane import member_of, place_of
from taskmill.lanes.order import order_ms

_STAYS: Final = FAR_RECORD
"""How long a record stays at most: it ends as soon as the ledger has the task on its shelf."""


class ShelveStores(Protocol):
    """Ports for shelving."""

    @property
    def bus(self) -> Bus: ...

    @property
    def shelved_records(self) -> ShelvedRecords: ...


def shelve(envelopes: Sequence[Envelope], stores: ShelveStores) -> None:
    """Send the facts from which the ledger learns of it; the caller flushes them.

    The records come first: whoever brings a task in has seen its fact, and keeps its record.
    """
    with suppress(StoreUnavailable):  # then they end when the tasks are on their shelves
        stores.shelved_records.shelve([member_of(one) for one in envelopes], stays=_STAYS)
    stores.bus.send_facts([_fact(one) for one in envelopes])


def _fact(envelope: Envelope) -> TaskShelved:
    place = place_of(envelope)
    return TaskShelved(
        id=envelope.id,
        generation=envelope.generation,
        turn=envelope.turn,
        at_ms=order_ms(envelope),  # whoever repeats it says the same
        type=envelope.type,
        tenant=envelope.tenant,
        line=place.line,
        order=place.order,
    )
