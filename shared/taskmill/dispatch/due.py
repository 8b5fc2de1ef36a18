"""Publishes due entries and puts due turns into their lanes, so that no decision is lost."""

import logging
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import Protocol, TypeAlias

from taskmill.core import codec
from taskmill.core.codec import RawEnvelope
from taskmill.core.errors import StoreUnavailable
from taskmill.core.owed import Owed, OwedKey, OwedKind
from taskmill.core.ports import Bus, Clock
from taskmill.core.task import Millis, TaskType
from taskmill.core.time import in_ms
from taskmill.dispatch.ports import DueSet
from taskmill.dispatch.waiting import PATIENCE_WITH_A_TYPE
from taskmill.lanes.enter import enter
from taskmill.lanes.lane import Entered
from taskmill.lanes.ports import Lanes
from taskmill.submission.halving import publish_in_halves
from taskmill.submission.ports import Catalogue

MOST_PER_SHARD = 500
_Entry: TypeAlias = tuple[OwedKey, Owed]

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

    @property
    def lanes(self) -> Lanes: ...


class DuePublisher:
    """The scheduler's tick for the whole queue."""

    def __init__(self, stores: DueStores) -> None:
        self._stores = stores

    def publish(self) -> int:
        """Take due entries, publish or enter them, clear them; return their number.

        Taken entries are hidden for a while and then due again: after a death on any line here the
        next tick repeats them. The same holds after a refusal: an entry that the log never accepts
        stays owed and blocks no other.
        """
        due = self._stores.due.take(most=MOST_PER_SHARD)
        sent: list[_Entry] = []
        for entries, refusal in publish_in_halves(due, self._send):
            if refusal is None:
                sent += entries
            else:
                ((name, _),) = entries
                extra = {"task_id": name.id, "turn": name.turn, "why": str(refusal)}
                _log.error("due entry rejected by the log", extra=extra)
        done = self._enter(sent) if sent else []
        if done:
            self._stores.due.clear(done)
        return len(done)

    def _send(self, entries: Sequence[_Entry]) -> None:
        bus = self._stores.bus
        _publish_facts_first(entries, bus)
        turns = _tasks(entries, {OwedKind.TURN})
        bus.send_pending(
            _tasks(entries, {OwedKind.SUBMISSION, OwedKind.PARKED})
            + self._waiting([one for one in turns if not self._knows(one.type)])
        )
        bus.flush()

    def _enter(self, entries: Sequence[_Entry]) -> Sequence[OwedKey]:
        """Put turns into their lanes, and return the entries that are owed no more."""
        turns = [one for one in entries if self._is_for_a_lane(one)]
        answers = enter([_raw(*one) for one in turns], self._stores, past=True)
        with suppress(StoreUnavailable):  # only wake-ups are on their way now
            self._stores.bus.flush()
        cold = {
            name for (name, _), answer in zip(turns, answers, strict=True) if answer is Entered.COLD
        }
        return [name for name, _ in entries if name not in cold]

    def _is_for_a_lane(self, entry: _Entry) -> bool:
        name, owed = entry
        task = owed.task
        return name.kind is OwedKind.TURN and task is not None and self._knows(task.type)

    def _knows(self, task_type: TaskType) -> bool:
        return self._stores.catalogue.entry(task_type) is not None

    def _waiting(self, turns: list[RawEnvelope]) -> list[RawEnvelope]:
        """Mark *turns* as waiting for a worker of their type; their own time has come."""
        until = Millis(self._stores.clock() + in_ms(PATIENCE_WITH_A_TYPE))
        return [codec.amended(one, parked_until_ms=until) for one in turns]


def _publish_facts_first(entries: Sequence[_Entry], bus: Bus) -> None:
    facts = [fact for _, owed in entries for fact in owed.facts]
    if facts:
        bus.send_facts(facts)
        bus.flush()


def _tasks(entries: Sequence[_Entry], kinds: AbstractSet[OwedKind]) -> list[RawEnvelope]:
    return [
        _raw(name, owed) for name, owed in entries if name.kind in kinds and owed.task is not None
    ]


def _raw(name: OwedKey, owed: Owed) -> RawEnvelope:
    """Return the envelope of an entry that has one, with its bytes if they are known."""
    if owed.task is None:
        raise LookupError(f"entry {name.id} of kind {name.kind} has no task")
    return RawEnvelope(owed.task, name.task or codec.encode(owed.task))
