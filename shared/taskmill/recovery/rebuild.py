"""Fills shards that forgot, or may have, from the ledger, and opens them."""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta

from msgspec import Struct, field

from taskmill.core import codec
from taskmill.core.errors import StoreUnavailable, Undecodable
from taskmill.core.ports import Clock, LogEnds, Pause
from taskmill.core.task import Envelope
from taskmill.core.time import in_ms
from taskmill.ledger.ports import WholeRows
from taskmill.ledger.projection import Row, row_of
from taskmill.recovery.ports import ColdShards
from taskmill.recovery.restoration import Restoration, hot_view, waits_far
from taskmill.submission.outbox import Unsent
from taskmill.submission.ports import Outbox

_log = logging.getLogger("taskmill.rebuild")
_STEP = timedelta(milliseconds=250)
_ROWS_AT_A_TIME = 500


class Sources(Struct, frozen=True, kw_only=True):
    """What a rebuild reads."""

    ledger: WholeRows
    log_ends: LogEnds
    outbox: Outbox


def rebuild(  # noqa: PLR0913 - the ports of a rebuild, each named
    shards: ColdShards,
    sources: Sources,
    *,
    word: str,
    grace: timedelta,
    clock: Clock,
    pause: Pause,
) -> int:
    """Rebuild the shards that are cold and in nobody's hands; return how many records were made.

    Living processes publish within the *grace* what Redis decided before it forgot; only then the
    end of the log is noted that the ledger must have reached. Whenever the *word* is gone from a
    shard, it was emptied once more, and another rebuild begins with it.
    """
    if not shards.are_some():
        return 0
    sources.log_ends.ends()  # stores that are away leave no word behind
    sources.ledger.applied()
    work = _Rebuild(shards=shards, word=word, clock=clock, pause=pause, under=shards.begin(word))
    if not work.under:
        return 0
    began = clock()
    _log.warning("shards are cold", extra={"shards": len(work.under)})
    try:
        opened = _fill(work, sources, grace)
    except StoreUnavailable:
        with suppress(StoreUnavailable):
            shards.leave(word, work.under)  # it would keep the next one away for a while
        raise
    counted = {str(kind): number for kind, number in work.counted.items()}
    fields = {"shards": len(opened), "milliseconds": clock() - began} | counted
    _log.warning("shards are open", extra=fields)
    return work.counted[Restoration.RESTORED]


def _fill(work: "_Rebuild", sources: Sources, grace: timedelta) -> frozenset[int]:
    """Restore everything, and return the shards that are open then."""
    work.wait(grace)
    for envelopes in _unsent(sources.outbox):
        work.restore([row for one in envelopes if (row := row_of(one)) is not None])
    work.wait_for(sources.ledger, sources.log_ends.ends())
    for rows in sources.ledger.far():
        work.restore(rows, is_far=True)
    for rows in sources.ledger.restorable(finished=True):
        work.restore(rows)
    for ids in work.shards.held(work.under):  # a server that fell back may take some for unfinished
        work.restore(sources.ledger.unlisted(ids))
    for rows in sources.ledger.restorable(finished=False):  # last: their leases must not lapse
        work.restore(rows)
    return work.shards.open(work.word, work.under)


def _unsent(outbox: Outbox) -> Iterator[Sequence[Envelope]]:
    """Read the tasks that are not in the log yet; before its end is noted, lest one slip by."""
    last = 0
    while rows := outbox.unsent(after=last, most=_ROWS_AT_A_TIME):
        last = rows[-1].number
        yield [task for row in rows if (task := _opened(row)) is not None]


def _opened(row: Unsent) -> Envelope | None:
    try:
        return codec.open_envelope(row.envelope)
    except Undecodable as error:
        _log.error("unreadable in the outbox", extra={"row": row.number, "why": str(error)})
        return None


class _Rebuild(Struct, kw_only=True):
    shards: ColdShards
    word: str
    clock: Clock
    pause: Pause
    under: frozenset[int]
    """The shards that are still under the word."""
    counted: Counter[Restoration] = field(default_factory=Counter)

    def wait(self, span: timedelta) -> None:
        until = self.clock() + in_ms(span)
        while self.under and self.clock() < until:
            self.pause(_STEP)
            self._keep()

    def wait_for(self, ledger: WholeRows, ends: Mapping[tuple[str, int], int]) -> None:
        """Wait until the ledger has seen the log up to its *ends*."""
        while self.under:
            applied = ledger.applied()
            if all(applied.get(place, 0) >= end for place, end in ends.items()):
                return
            self.pause(_STEP)
            self._keep()

    def restore(self, rows: Iterable[Row], *, is_far: bool = False) -> None:
        """Restore what *rows* say; those that the ledger alone keeps, as far as a key needs it."""
        now = self.clock()
        views = [
            hot_view(row, row.body, is_far=is_far or waits_far(row, now))
            for row in rows
            if row.body and row.generation and self.shards.shard_of(row.id) in self.under
        ]  # without a generation it was never admitted: the dispatcher does that
        self.counted.update(self.shards.restore(self.word, views))
        self._keep()

    def _keep(self) -> None:
        self.under = self.shards.keep(self.word, self.under)
