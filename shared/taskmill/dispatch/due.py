"""Publishes due entries, so that every decision is eventually published."""

import logging
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Protocol, TypeAlias

from msgspec.structs import replace

from taskmill.core import codec
from taskmill.core.codec import RawEnvelope
from taskmill.core.owed import Owed, OwedKey, OwedKind
from taskmill.core.ports import Bus, Clock
from taskmill.core.task import Envelope, Millis, TaskType
from taskmill.core.time import in_ms
from taskmill.dispatch.ports import DueSet
from taskmill.dispatch.waiting import PATIENCE_WITH_A_TYPE
from taskmill.submission.halving import publish_in_halves
from taskmill.submission.ports import Catalogue

MOST_PER_SHARD = 500
_Entry: TypeAlias = tuple[OwedKey, Owed]
_Line: TypeAlias = list[Envelope | RawEnvelope]

_log = logging.getLogger("taskmill.due")


class DueStores(Protocol):
    """Ports for publishing due entries."""

    @property
    def bus(self) -> Bus: ...

    @property
    def catalogue(self) -> Catalogue: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def due(self) -> DueSet: ...


class DuePublisher:
    """The scheduler's tick for the whole queue."""

    def __init__(self, stores: DueStores) -> None:
        self._stores = stores

    def publish(self) -> int:
        """Take due entries, publish and clear them; return their number.

        Taken entries are hidden for a while and then due again: after a death on any line here the
        next tick publishes them once more. The same holds after a refusal: an entry that the log
        never accepts stays owed and blocks no other.
        """
        due = self._stores.due.take(most=MOST_PER_SHARD)
        published: list[OwedKey] = []
        for entries, refusal in publish_in_halves(due, self._send):
            names = [name for name, _ in entries]
            if refusal is None:
                published += names
            else:
                (name,) = names
                extra = {"task_id": name.id, "turn": name.turn, "why": str(refusal)}
                _log.error("due entry rejected by the log", extra=extra)
        if published:
            self._stores.due.clear(published)
        return len(published)

    def _send(self, entries: Sequence[_Entry]) -> None:
        bus = self._stores.bus
        _publish_facts_first(entries, bus)
        turns = _tasks(entries, {OwedKind.TURN})
        bus.send_pending(
            _tasks(entries, {OwedKind.SUBMISSION, OwedKind.PARKED})
            + self._waiting([one for one in turns if not self._knows(one.type)])
        )
        bus.send_work([one for one in turns if self._knows(one.type)])
        bus.flush()

    def _knows(self, task_type: TaskType) -> bool:
        return self._stores.catalogue.entry(task_type) is not None

    def _waiting(self, turns: _Line) -> _Line:
        """Mark *turns* as waiting for a worker of their type; their own time has come."""
        until = Millis(self._stores.clock() + in_ms(PATIENCE_WITH_A_TYPE))
        return [_parked(one, until) for one in turns]


def _parked(task: Envelope | RawEnvelope, until_ms: Millis) -> Envelope | RawEnvelope:
    if isinstance(task, RawEnvelope):
        return codec.amended(task, parked_until_ms=until_ms)
    return replace(task, parked_until_ms=until_ms)


def _publish_facts_first(entries: Sequence[_Entry], bus: Bus) -> None:
    facts = [fact for _, owed in entries for fact in owed.facts]
    if facts:
        bus.send_facts(facts)
        bus.flush()


def _tasks(entries: Sequence[_Entry], kinds: AbstractSet[OwedKind]) -> _Line:
    return [
        RawEnvelope(owed.task, name.task) if name.task else owed.task
        for name, owed in entries
        if name.kind in kinds and owed.task is not None
    ]
