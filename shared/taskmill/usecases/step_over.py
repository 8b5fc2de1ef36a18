"""Lets the ledger go on behind what the log has lost."""

import logging
from collections.abc import Sequence

from taskmill.domain.log import Gap
from taskmill.domain.projection import Applied, LedgerBatch
from taskmill.domain.task import Millis
from taskmill.domain.topics import RECORDERS
from taskmill.ports.log import LogReaders
from taskmill.ports.rebuilding import WholeRows
from taskmill.ports.recording import Ledger

_log = logging.getLogger("taskmill.step_over")


def gaps_of(readers: LogReaders, rows: WholeRows) -> Sequence[Gap]:
    """Return what the ledger never saw and never will.

    A place is committed when the ledger has what stands before it. One that is committed, or the
    first that is still there, and is beyond what the ledger has, lies behind records that outlived
    their retention.
    """
    reached = readers.reach(RECORDERS)
    applied = rows.applied()  # asked last, since it only grows
    return [
        Gap(topic=reader.topic, partition=partition, first=known, next=reach.place)
        for (reader, partition), reach in sorted(reached.items(), key=str)
        if (known := applied.get((reader.topic, partition), 0)) < reach.place
    ]


def step_over(readers: LogReaders, rows: WholeRows, ledger: Ledger) -> Sequence[Gap]:
    """Let the ledger stand where its readers do: who waits for it would wait for ever."""
    gaps = gaps_of(readers, rows)
    if gaps:
        ledger.record(LedgerBatch(applied=[_applied(gap) for gap in gaps]))
    for gap in gaps:
        place = {"topic": gap.topic, "partition": gap.partition}
        _log.error("the log lost records", extra=place | {"first": gap.first, "next": gap.next})
    return gaps


def _applied(gap: Gap) -> Applied:
    return Applied(
        topic=gap.topic,
        partition=gap.partition,
        first=gap.first,
        next=gap.next,
        as_of_ms=Millis(0),
    )
