"""Counts what reaches the ledger."""

import logging
from typing import Final

from taskmill.core.counting import Count, topic_label
from taskmill.core.ports import Counters
from taskmill.ledger.projection import LedgerBatch, contradictions
from taskmill.stores.counted.watchers import Watchers, by_answer, tally

_log = logging.getLogger("taskmill.ledger")

_MOST_NAMED: Final = 10


def _recorded(counters: Counters, batch: LedgerBatch, late: int) -> None:
    counters.count(Count.LATE_ROWS, late)
    if impossible := contradictions(batch):
        counters.count(Count.CONTRADICTIONS, len(impossible))
        ids = sorted({one.id for one in impossible})
        _log.error("facts after an end", extra={"task_ids": ids[:_MOST_NAMED]})
    for kind, facts in tally(fact.kind for fact in batch.history):
        counters.count(Count.FACTS, facts, kind=kind)
    for topic, records in tally(topic_label(one.topic) for one in batch.quarantined):
        counters.count(Count.QUARANTINED, records, topic=topic)


LEDGER: Final[Watchers] = {"record": by_answer(_recorded)}
