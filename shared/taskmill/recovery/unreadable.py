"""Restores records that another client of Redis has overwritten."""

import logging
from collections.abc import Sequence
from datetime import timedelta
from typing import Protocol

from taskmill.core.codec import RawEnvelope
from taskmill.core.counting import Count
from taskmill.core.owed import OwedKind
from taskmill.core.ports import Bus, Counters, LogEnds, Pause
from taskmill.core.task import TaskId
from taskmill.core.time import in_ms
from taskmill.ledger.ports import WholeRows
from taskmill.ledger.projection import Row
from taskmill.recovery.divergence import RepairAnswer, RepairOrder
from taskmill.recovery.ports import Repairs, UnreadableKey, UnreadableKeys
from taskmill.recovery.restoration import hot_view
from taskmill.recovery.waits import wait_for_ledger
from taskmill.submission.ports import Outbox

_log = logging.getLogger("taskmill.unreadable")


class UnreadableStores(Protocol):
    """The ports that the restoration uses."""

    @property
    def bus(self) -> Bus: ...

    @property
    def counters(self) -> Counters: ...

    @property
    def log_ends(self) -> LogEnds: ...

    @property
    def outbox(self) -> Outbox: ...

    @property
    def repairs(self) -> Repairs: ...

    @property
    def unreadable(self) -> UnreadableKeys: ...

    @property
    def whole_rows(self) -> WholeRows: ...


class UnreadableRecords:
    """Rebuilds single overwritten records; until then nobody runs or changes their tasks.

    Within the *grace*, live processes publish what Redis decided before; what dead processes did
    not publish is still in the due set. After that, the log holds everything known about a task.
    """

    def __init__(self, stores: UnreadableStores, *, grace: timedelta, pause: Pause) -> None:
        self._stores = stores
        self._grace = in_ms(grace)
        self._pause = pause

    def mend(self) -> int:
        """Restore the keys found at least a *grace* ago; return how many are intact again."""
        entries = self._stores.unreadable.found()
        ripe = {one.id for one in entries if one.id is not None and one.age_ms >= self._grace}
        sound = self._mended(sorted(ripe)) if ripe else frozenset()
        done = [one for one in entries if one.id is None or one.id in sound]
        if not done:
            return 0
        mended = self._stores.unreadable.leave(done)
        self._stores.counters.count(Count.UNREADABLE, mended)
        _report(done)
        return mended

    def _mended(self, ids: Sequence[TaskId]) -> frozenset[TaskId]:
        has_unsent = bool(self._stores.outbox.unsent(after=0, most=1))
        self._tell_what_is_owed(ids)
        ends = self._stores.log_ends.ends()
        wait_for_ledger(self._stores.whole_rows, ends, pause=self._pause)
        rows = {row.id: row for row in self._stores.whole_rows.of(ids)}
        unborn = [one for one in ids if (row := rows.get(one)) is not None and _is_unborn(row)]
        unknown = [] if has_unsent else [one for one in ids if one not in rows]
        self._stores.unreadable.drop([*unborn, *unknown])
        known = [row for row in rows.values() if row.spec and row.generation]
        return frozenset([*unborn, *unknown, *self._repaired(known)])

    def _tell_what_is_owed(self, ids: Sequence[TaskId]) -> None:
        """Publish decisions of Redis that their process may not have published.

        Turns wait for their time; the scheduler publishes everything again.
        """
        bus, owed = self._stores.bus, self._stores.unreadable.owed(ids)
        bus.send_facts([fact for _, one in owed for fact in one.facts])
        bus.flush()
        bus.send_pending(
            [
                RawEnvelope(one.task, name.task) if name.task else one.task
                for name, one in owed
                if name.kind is OwedKind.SUBMISSION and one.task is not None
            ]
        )
        bus.flush()

    def _repaired(self, rows: Sequence[Row]) -> list[TaskId]:
        orders = [RepairOrder(seen=None, view=hot_view(row, row.spec)) for row in rows if row.spec]
        answers = self._stores.repairs.repair(orders)
        return [
            order.view.row.id
            for order, answer in zip(orders, answers, strict=True)
            if answer is not RepairAnswer.COLD
        ]


def _is_unborn(row: Row) -> bool:
    """Return whether it was submitted but never admitted, which the dispatcher does later."""
    return row.spec is not None and not row.generation


def _report(done: Sequence[UnreadableKey]) -> None:
    for one in done:
        _log.error("a key in Redis had been overwritten; it was restored", extra={"key": one.name})
