"""Publishes what is due, so that nothing that was decided is left unpublished."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Protocol

from taskmill.core.codec import Sealed
from taskmill.core.owed import Owed, OwedKey, OwedKind
from taskmill.core.ports import Bus
from taskmill.core.task import Envelope
from taskmill.dispatch.ports import DueSet

MOST_PER_SHARD = 500


class DueStores(Protocol):
    """The ports that publishing what is due uses."""

    @property
    def bus(self) -> Bus: ...

    @property
    def due(self) -> DueSet: ...


class DuePublisher:
    """The tick of the whole queue."""

    def __init__(self, stores: DueStores) -> None:
        self._stores = stores

    def publish(self) -> int:
        """Take what is due, publish it and clear it; return how much that was.

        What is taken is held for a while and due again after it: a death on any line here only
        means that the next tick publishes the same entries.
        """
        due, bus = self._stores.due, self._stores.bus
        taken = due.take(most=MOST_PER_SHARD)
        if not taken:
            return 0
        _publish_facts_first(taken, bus)
        bus.send_pending(_tasks(taken, {OwedKind.SUBMISSION, OwedKind.PARKED}))
        bus.send_work(_tasks(taken, {OwedKind.TURN}))
        bus.flush()
        due.clear([name for name, _ in taken])
        return len(taken)


def _publish_facts_first(taken: Sequence[tuple[OwedKey, Owed]], bus: Bus) -> None:
    facts = [fact for _, owed in taken for fact in owed.facts]
    if facts:
        bus.send_facts(facts)
        bus.flush()


def _tasks(
    taken: Sequence[tuple[OwedKey, Owed]], kinds: AbstractSet[OwedKind]
) -> list[Envelope | Sealed]:
    return [
        Sealed(owed.task, name.task) if name.task else owed.task
        for name, owed in taken
        if name.kind in kinds and owed.task is not None
    ]
