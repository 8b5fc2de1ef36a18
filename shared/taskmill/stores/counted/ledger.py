"""What reaches the ledger and leaves the outbox, counted."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from taskmill.core.counting import Count, topic_label
from taskmill.core.ports import Counters
from taskmill.core.task import Envelope, TaskId
from taskmill.ledger.ports import Ledger
from taskmill.ledger.projection import LedgerBatch, contradictions
from taskmill.stores.counted.bus import tally
from taskmill.submission.outbox import Lost, OutboxBacklog, ParkedTask, Unsent
from taskmill.submission.ports import Held, Outbox

_log = logging.getLogger("taskmill.ledger")

_MOST_NAMED: Final = 10


class CountedLedger:
    def __init__(self, ledger: Ledger, counters: Counters) -> None:
        self._ledger = ledger
        self._counters = counters

    def record(self, batch: LedgerBatch) -> int:
        late = self._ledger.record(batch)
        self._counters.count(Count.LATE_ROWS, late)
        if impossible := contradictions(batch):
            self._counters.count(Count.CONTRADICTIONS, len(impossible))
            ids = sorted({one.id for one in impossible})
            _log.error("facts after an end", extra={"task_ids": ids[:_MOST_NAMED]})
        for kind, facts in tally(fact.kind for fact in batch.history):
            self._counters.count(Count.FACTS, facts, kind=kind)
        for topic, records in tally(topic_label(one.topic) for one in batch.quarantined):
            self._counters.count(Count.QUARANTINED, records, topic=topic)
        return late


class CountedOutbox:
    def __init__(self, outbox: Outbox, counters: Counters) -> None:
        self._outbox = outbox
        self._counters = counters

    def has_room(self, count: int) -> bool:
        return self._outbox.has_room(count)

    def add(self, envelopes: Sequence[Envelope]) -> None:
        self._outbox.add(envelopes)

    def find(self, task_id: TaskId) -> Envelope | Lost | None:
        return self._outbox.find(task_id)

    def parked(self, *, most: int) -> Sequence[ParkedTask]:
        return self._outbox.parked(most=most)

    def backlog(self, *, most: int) -> OutboxBacklog:
        return self._outbox.backlog(most=most)

    def unsent(self, *, after: int, most: int) -> Sequence[Unsent]:
        return self._outbox.unsent(after=after, most=most)

    @contextmanager
    def held(self, *, most: int) -> Iterator[Held]:
        with self._outbox.held(most=most) as held:
            counted = CountedHeld(held)
            yield counted
        for answer, rows in counted.told.items():
            self._counters.count(Count.OUTBOX, rows, answer=answer)


class CountedHeld:
    """What is said counts at the end: an alarm looks at what was parked."""

    def __init__(self, held: Held) -> None:
        self._held = held
        self.told = {"relayed": 0, "parked": 0}

    @property
    def rows(self) -> Sequence[Unsent]:
        return self._held.rows

    def mark_published(self, rows: Sequence[Unsent]) -> None:
        self._held.mark_published(rows)
        self.told["relayed"] += len(rows)

    def park(self, row: Unsent, reason: str) -> None:
        self._held.park(row, reason)
        self.told["parked"] += 1
