"""Fills shards that lost data, or may have, from the ledger, and opens them."""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Protocol

from msgspec import Struct, field

from taskmill.core import codec
from taskmill.core.counting import Count
from taskmill.core.errors import StoreUnavailable, Undecodable
from taskmill.core.ports import Clock, Counters, LogEnds, Pause
from taskmill.core.task import Envelope, TaskId
from taskmill.core.time import in_ms
from taskmill.lanes.ports import ColdLanes
from taskmill.ledger.ports import WholeRows
from taskmill.ledger.projection import Row, row_of
from taskmill.recovery.ports import ColdShards
from taskmill.recovery.restoration import Restoration, hot_view, waits_far
from taskmill.recovery.waits import wait_for_ledger, wait_until
from taskmill.submission.outbox import Unsent
from taskmill.submission.ports import Outbox

_log = logging.getLogger("taskmill.rebuild")
_ROWS_AT_A_TIME = 500


class RebuildStores(Protocol):
    """Ports for a rebuild."""

    @property
    def clock(self) -> Clock: ...

    @property
    def cold_lanes(self) -> ColdLanes: ...

    @property
    def counters(self) -> Counters: ...

    @property
    def log_ends(self) -> LogEnds: ...

    @property
    def outbox(self) -> Outbox: ...

    @property
    def shards(self) -> ColdShards: ...

    @property
    def whole_rows(self) -> WholeRows: ...


class Rebuild:
    """Living processes publish what Redis decided before its loss within the *grace* period.

    Only then the rebuild notes the end of the log that the ledger must reach. If the *nonce*
    disappears from a shard, the shard was emptied again, and another rebuild starts with it.
    """

    def __init__(
        self, stores: RebuildStores, *, nonce: str, grace: timedelta, pause: Pause
    ) -> None:
        self._stores = stores
        self._nonce = nonce
        self._grace = grace
        self._pause = pause

    def run(self) -> int:
        """Rebuild cold shards that nobody else rebuilds; return how many records were created."""
        stores = self._stores
        if not stores.shards.are_some():
            return 0
        stores.log_ends.ends()  # if a store is unavailable, no nonce is left behind
        stores.whole_rows.applied()
        under = stores.shards.begin(self._nonce)
        return self._rebuild(_Rebuild(stores, self._nonce, under)) if under else 0

    def _rebuild(self, work: "_Rebuild") -> int:
        began = self._stores.clock()
        _log.warning("rebuild of cold shards started", extra={"shards": len(work.under)})
        try:
            opened = self._fill(work)
        except StoreUnavailable:
            with suppress(StoreUnavailable):
                # It would delay the next rebuild for a while.
                self._stores.shards.leave(self._nonce, work.under)
            raise
        counted = {str(kind): number for kind, number in work.counted.items()}
        fields = {"shards": len(opened), "milliseconds": self._stores.clock() - began} | counted
        _log.warning("rebuild of cold shards finished", extra=fields)
        restored = work.counted[Restoration.RESTORED]
        if restored:
            self._stores.counters.count(Count.RESTORED, restored)
        return restored

    def _fill(self, work: "_Rebuild") -> frozenset[int]:
        """Restore everything, and return the shards that are then open.

        Living lanes get a new epoch before: what was said of a lost record says nothing of a
        restored one, which may run again.
        """
        ledger = self._stores.whole_rows
        rests_at_ms = self._stores.clock() + in_ms(self._grace)
        wait_until(rests_at_ms, clock=self._stores.clock, pause=self._pause, goes_on=work.goes_on)
        for envelopes in _unsent(self._stores.outbox):
            work.restore([row for one in envelopes if (row := row_of(one)) is not None])
        ends = self._stores.log_ends.ends()
        wait_for_ledger(ledger, ends, pause=self._pause, goes_on=work.goes_on)
        for rows in ledger.far():
            work.restore(rows, is_far=True)
        for rows in ledger.restorable(finished=True):
            work.restore(rows)
        for ids in work.held():  # a server that fell back may consider some of them unfinished
            work.restore(ledger.unlisted(ids))
        for rows in ledger.restorable(finished=False):  # last: their leases must not expire
            work.restore(rows)
        self._stores.cold_lanes.renew_epochs()
        return work.open()


def _unsent(outbox: Outbox) -> Iterator[Sequence[Envelope]]:
    """Read the tasks that are not in the log yet, before noting its end, so that none is missed."""
    last = 0
    while rows := outbox.unsent(after=last, most=_ROWS_AT_A_TIME):
        last = rows[-1].number
        yield [task for row in rows if (task := _opened(row)) is not None]


def _opened(row: Unsent) -> Envelope | None:
    try:
        return codec.open_envelope(row.envelope)
    except Undecodable as error:
        _log.error("outbox row cannot be decoded", extra={"row": row.number, "why": str(error)})
        return None


class _Rebuild(Struct):
    stores: RebuildStores
    nonce: str
    under: frozenset[int]
    """The shards that still have the nonce."""
    counted: Counter[Restoration] = field(default_factory=Counter)

    def goes_on(self) -> bool:
        """Renew the nonces, and return whether any shard still has one."""
        self._keep()
        return bool(self.under)

    def restore(self, rows: Iterable[Row], *, is_far: bool = False) -> None:
        """Restore *rows*; of those that only the ledger keeps, restore what a key needs."""
        now = self.stores.clock()
        views = [
            hot_view(row, row.spec, is_far=is_far or waits_far(row, now))
            for row in rows
            if row.spec and row.generation and self.stores.shards.shard_of(row.id) in self.under
        ]  # without a generation it was never admitted: the dispatcher does that
        self.counted.update(self.stores.shards.restore(self.nonce, views))
        self._keep()

    def _keep(self) -> None:
        self.under = self.stores.shards.keep(self.nonce, self.under)

    def held(self) -> Iterable[Sequence[TaskId]]:
        return self.stores.shards.held(self.under)

    def open(self) -> frozenset[int]:
        return self.stores.shards.open(self.nonce, self.under)
