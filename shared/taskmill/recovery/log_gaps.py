"""Skips records that the log has lost, so that the ledger can continue."""

import logging
from collections.abc import Sequence

from taskmill.core.log import Gap
from taskmill.core.ports import LogReaders
from taskmill.core.task import Millis
from taskmill.core.topics import RECORDERS
from taskmill.ledger.ports import Ledger, WholeRows
from taskmill.ledger.projection import Applied, LedgerBatch

_log = logging.getLogger("taskmill.step_over")


def gaps_of(readers: LogReaders, rows: WholeRows) -> Sequence[Gap]:
    """Return where the ledger lacks what its readers have passed.

    A place is committed when the ledger has what stands before it: unless records outlived their
    retention, or somebody brought back an older ledger or moved a reader by hand.
    """
    reached = readers.reach(RECORDERS)
    applied = rows.applied()  # asked last, since it only grows
    return [
        Gap(
            topic=reader.topic,
            partition=partition,
            first=known,
            next=reach.place,
            is_lost=known < reach.begin,
        )
        for (reader, partition), reach in sorted(reached.items(), key=str)
        if (known := applied.get((reader.topic, partition), 0)) < reach.place
    ]


def step_over(
    readers: LogReaders, rows: WholeRows, ledger: Ledger, stepped: set[tuple[str, int]]
) -> Sequence[Gap]:
    """Let the ledger go on where records are gone: who waits for it would wait for ever.

    What the recorder wrote while its place was not committed yet makes a gap anew, and is stepped
    over at the next look: so it is remembered who was *stepped* over at this one. What the log has
    still is told, and left to those who can let it be read again.
    """
    gaps = gaps_of(readers, rows)
    over = [gap for gap in gaps if gap.is_lost or (gap.topic, gap.partition) in stepped]
    stepped.clear()
    stepped.update((gap.topic, gap.partition) for gap in over)
    if over:
        ledger.record(LedgerBatch(applied=[_applied(gap) for gap in over]))
    for gap in gaps:
        words = "the log lost records" if gap in over else "the ledger lacks records of the log"
        place = {"topic": gap.topic, "partition": gap.partition}
        _log.error(words, extra=place | {"first": gap.first, "next": gap.next})
    return gaps


def _applied(gap: Gap) -> Applied:
    return Applied(
        topic=gap.topic,
        partition=gap.partition,
        first=gap.first,
        next=gap.next,
        as_of_ms=Millis(0),
    )
