"""Skips records that the log has lost, so that the ledger can continue."""

import logging
from collections.abc import Sequence

from taskmill.core.log import LogGap
from taskmill.core.ports import LogReaders
from taskmill.core.task import Millis
from taskmill.core.topics import RECORDERS
from taskmill.ledger.ports import Ledger, WholeRows
from taskmill.ledger.projection import Applied, LedgerBatch

_log = logging.getLogger("taskmill.step_over")


def gaps_of(readers: LogReaders, rows: WholeRows) -> Sequence[LogGap]:
    """Return where the ledger lacks records that its readers have passed.

    An offset is committed when the ledger has everything before it, unless records exceeded their
    retention, or somebody restored an older ledger or moved a reader by hand.
    """
    reached = readers.reach(RECORDERS)
    applied = rows.applied()  # read last, since the ledger only grows
    return [
        LogGap(
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
) -> Sequence[LogGap]:
    """Let the ledger continue where records are gone: waiting readers would wait forever.

    Records that the recorder wrote before their offset was committed make another gap, which is
    skipped at the next look; hence the *stepped* places are remembered. Gaps that the log still has
    are reported, and left to people who can have them read again.
    """
    gaps = gaps_of(readers, rows)
    over = [gap for gap in gaps if gap.is_lost or (gap.topic, gap.partition) in stepped]
    stepped.clear()
    stepped.update((gap.topic, gap.partition) for gap in over)
    if over:
        ledger.record(LedgerBatch(applied=[_applied(gap) for gap in over]))
    for gap in gaps:
        message = (
            "the log lost records"
            if gap in over
            else "the ledger has not applied records that the log still has"
        )
        place = {"topic": gap.topic, "partition": gap.partition}
        _log.error(message, extra=place | {"first": gap.first, "next": gap.next})
    return gaps


def _applied(gap: LogGap) -> Applied:
    return Applied(
        topic=gap.topic,
        partition=gap.partition,
        first=gap.first,
        next=gap.next,
        as_of_ms=Millis(0),
    )
