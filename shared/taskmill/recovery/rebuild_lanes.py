"""Fills lanes that lost data, or may have, from the ledger, and opens them."""

import logging
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Final, Protocol

from msgspec import Struct, field

from taskmill.core.counting import Count
from taskmill.core.errors import StoreUnavailable
from taskmill.core.owed import Cold
from taskmill.core.ports import Bus, Clock, Counters, LogEnds, Pause
from taskmill.core.task import TaskType
from taskmill.core.time import in_ms
from taskmill.lanes.enter import wake
from taskmill.lanes.lane import Entered, Filled, Shelved, Take, TakeAnswer, type_of
from taskmill.lanes.ports import ColdLanes, Lanes, Rules
from taskmill.ledger.ports import Shelf, WholeRows
from taskmill.ledger.projection import Row
from taskmill.recovery.placement import InDueSet, InFlight, InLine, Overwritten, Placement
from taskmill.recovery.ports import ColdShards, Placements
from taskmill.recovery.restoration import HotView, hot_view
from taskmill.recovery.waits import wait_for_ledger, wait_until

_SHELVES_AT_A_TIME: Final = 500

_log = logging.getLogger("taskmill.rebuild")


class LaneRebuildStores(Protocol):
    """Ports for the rebuild of lanes."""

    @property
    def bus(self) -> Bus: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def cold_lanes(self) -> ColdLanes: ...

    @property
    def counters(self) -> Counters: ...

    @property
    def lanes(self) -> Lanes: ...

    @property
    def log_ends(self) -> LogEnds: ...

    @property
    def placements(self) -> Placements: ...

    @property
    def rules(self) -> Rules: ...

    @property
    def shards(self) -> ColdShards: ...

    @property
    def shelf(self) -> Shelf: ...

    @property
    def whole_rows(self) -> WholeRows: ...


class LaneRebuild:
    """Within the *grace*, a lease long, whatever a lane lost comes to rest.

    What was taken from it is claimed by then, or its claim comes too late; whoever took a turn from
    the due set to enter it clears that no more; leases that the rebuild of a shard restored were
    taken over, or have lapsed. Only then the ledger and the records say where each task belongs.
    If the *nonce* disappears from a lane, it was emptied again, and another rebuild starts with it.
    """

    def __init__(
        self, stores: LaneRebuildStores, *, nonce: str, grace: timedelta, pause: Pause
    ) -> None:
        self._stores = stores
        self._nonce = nonce
        self._grace = in_ms(grace)
        self._pause = pause
        self.saw_cold = False
        """Whether any lane was cold when this looked last."""

    def run(self) -> int:
        """Rebuild cold lanes that nobody else rebuilds; return how many tasks they got.

        Cold shards come first: their records cannot say yet who runs.
        """
        stores = self._stores
        cold = stores.cold_lanes.cold()
        self.saw_cold = bool(cold)
        if not cold or stores.shards.are_some():
            return 0
        stores.log_ends.ends()  # if a store is unavailable, no nonce is left behind
        stores.whole_rows.applied()
        types = stores.cold_lanes.begin(self._nonce, cold)
        return self._rebuild(_Work(stores, self._nonce, types)) if types else 0

    def _rebuild(self, work: "_Work") -> int:
        began = self._stores.clock()
        _log.warning("rebuild of cold lanes started", extra={"types": sorted(work.types)})
        try:
            self._fill(work, began + self._grace)
            opened = work.open()
        except StoreUnavailable:
            with suppress(StoreUnavailable):
                # It would delay the next rebuild for a while.
                work.leave()
            raise
        fields = {"types": sorted(opened), "milliseconds": self._stores.clock() - began}
        _log.warning("rebuild of cold lanes finished", extra=fields | work.counted)
        return work.counted.total()

    def _fill(self, work: "_Work", rests_at_ms: int) -> None:
        """Place every unfinished task; without any, no lane lost anything, so nothing is awaited.

        What was in a lane was submitted before, and is unfinished until its end is published.
        """
        self._wait_for_ledger(work)
        rows = self._stores.whole_rows
        if not any(rows.unfinished(work.types)) and not self._stores.shelf.last(after="", most=1):
            return
        wait_until(rests_at_ms, clock=self._stores.clock, pause=self._pause, goes_on=work.goes_on)
        self._wait_for_ledger(work)
        for page in rows.unfinished(work.types):
            work.place(page)
            if not work.types:
                return
        work.open_shelves()

    def _wait_for_ledger(self, work: "_Work") -> None:
        rows, ends = self._stores.whole_rows, self._stores.log_ends.ends()
        wait_for_ledger(rows, ends, pause=self._pause, goes_on=work.goes_on)


class _Work(Struct):
    stores: LaneRebuildStores
    nonce: str
    types: Sequence[TaskType]
    """Those whose lanes still have the nonce."""
    counted: Counter[str] = field(default_factory=Counter)

    def goes_on(self) -> bool:
        """Renew the nonces; give up when a shard was lost, which restores leases later."""
        self.types = self.stores.cold_lanes.keep(self.nonce, self.types)
        if self.types and self.stores.shards.are_some():
            self.leave()
        return bool(self.types)

    def leave(self) -> None:
        """Remove the nonces, so that another rebuild may begin at once."""
        self.stores.cold_lanes.leave(self.nonce, self.types)
        self.types = ()

    def place(self, rows: Sequence[Row]) -> None:
        views = [
            hot_view(row, row.spec)
            for row in rows
            if row.spec and row.generation and row.type in self.types
        ]  # without a generation it was never admitted: the dispatcher does that, and enters it
        placements = self.stores.placements.place(views)
        if Cold() in placements:
            self.leave()
        elif self.goes_on():
            self._put(views, placements)

    def _put(self, views: Sequence[HotView], placements: Sequence[Placement]) -> None:
        tasks: defaultdict[TaskType, list[Filled]] = defaultdict(list)
        for view, placement in zip(views, placements, strict=True):
            match placement:
                case InLine():
                    tasks[view.row.type].append(Filled(envelope=view.envelope))
                case InFlight(envelope=envelope, look_after=span):
                    tasks[view.row.type].append(Filled(envelope=envelope, look_after=span))
                case Overwritten():
                    tasks[view.row.type] += self._unreadable(view)
                case InDueSet() | Cold():
                    pass
        for task_type, filled in tasks.items():
            self._fill(task_type, filled)

    def _unreadable(self, view: HotView) -> Sequence[Filled]:
        """Hold the place of what may run; its restored record says what becomes of it.

        What waits for a time ahead does not run, and whoever restores its record owes it anew.
        """
        due_at_ms = view.due_at_ms
        if due_at_ms is not None and due_at_ms > self.stores.clock():
            return ()
        return [Filled(envelope=view.envelope, look_after=timedelta())]

    def _fill(self, task_type: TaskType, tasks: Sequence[Filled]) -> None:
        answers = self.stores.cold_lanes.fill(self.nonce, task_type, tasks)
        if Entered.COLD in answers:
            self.types = [one for one in self.types if one != task_type]
            return
        pairs = zip(tasks, answers, strict=True)
        shelved = [task.place for task, answer in pairs if answer is Entered.SHELVED]
        if shelved:
            self.stores.shelf.keep(shelved)
        in_flight = sum(one.look_after is not None for one in tasks)
        waiting = len(tasks) - in_flight - len(shelved)
        self.counted += Counter(waiting=waiting, in_flight=in_flight, shelved=len(shelved))
        self.stores.counters.count(Count.PLACED, len(tasks) - len(shelved))

    def open_shelves(self) -> None:
        """Open the shelves of lines that have tasks there: what is new to them passes none."""
        after = ""
        while last := self.stores.shelf.last(after=after, most=_SHELVES_AT_A_TIME):
            after = last[-1].line
            by_type: defaultdict[TaskType, list[Shelved]] = defaultdict(list)
            for place in last:
                by_type[type_of(place.line)].append(place)
            for task_type in by_type.keys() & set(self.types):
                self.stores.cold_lanes.fill(self.nonce, task_type, by_type[task_type])
            self.goes_on()

    def open(self) -> Sequence[TaskType]:
        """Set the pauses, open the lanes, and start processes for what waits in them."""
        book = self.stores.rules.book()
        self.stores.lanes.set_pauses(book.for_lanes(), revision=book.revision, wakes=False)
        opened = self.stores.cold_lanes.open(self.nonce, self.types)
        takes = [self.stores.lanes.take(Take(type=one)) for one in opened]
        wake(
            [one for take in takes if isinstance(take, TakeAnswer) for one in take.wake],
            self.stores.bus,
        )
        with suppress(StoreUnavailable):  # the next tick wakes them as well
            self.stores.bus.flush()
        return opened
