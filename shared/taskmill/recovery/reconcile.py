"""Finds and repairs persistent disagreements between the ledger and Redis."""

import logging
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import timedelta
from itertools import groupby
from typing import Protocol

from msgspec import Struct

from taskmill.core import codec, topics
from taskmill.core.codec import RawEnvelope
from taskmill.core.counting import Count, topic_label
from taskmill.core.lifetimes import SUBMISSION_IS_LOST, UNKEYED_RECORD
from taskmill.core.ports import Bus, Clock, Counters, LogReaders
from taskmill.core.task import Millis, TaskId
from taskmill.core.time import in_ms
from taskmill.core.topics import Reader
from taskmill.core.view import Absent
from taskmill.lanes.enter import enter
from taskmill.lanes.ports import Lanes
from taskmill.ledger.ports import Ledger, WholeRows
from taskmill.orders.control import TaskSnapshot
from taskmill.orders.ports import Control
from taskmill.recovery.divergence import (
    Diverged,
    Divergence,
    RepairAnswer,
    RepairOrder,
    Sign,
    TaskVersion,
    divergence,
    position_of,
)
from taskmill.recovery.log_gaps import step_over
from taskmill.recovery.ports import Repairs, TaskVersions
from taskmill.recovery.restoration import HotView, hot_view

_log = logging.getLogger("taskmill.reconcile")

PATIENCE = timedelta(seconds=10)
"""Longer than a lease: a process that decided something has published it by then, or died."""

MOST_LOOKED_AT = 10_000
MOST_MENDED = 500
MOST_SUSPECTED = 5_000
MOST_UNSUBMITTED = 100
ROWS_AT_A_TIME = 500
_MOST_STEPS = 600
_STAYS_UNFINISHED = UNKEYED_RECORD + timedelta(hours=1)
"""How long an ended task stays among the unfinished ones: a rebuild may need it."""


class ReconcilerStores(Protocol):
    """Ports for comparing and repairing."""

    @property
    def bus(self) -> Bus: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def control(self) -> Control: ...

    @property
    def counters(self) -> Counters: ...

    @property
    def lanes(self) -> Lanes: ...

    @property
    def ledger(self) -> Ledger: ...

    @property
    def readers(self) -> LogReaders: ...

    @property
    def repairs(self) -> Repairs: ...

    @property
    def task_versions(self) -> TaskVersions: ...

    @property
    def whole_rows(self) -> WholeRows: ...


class _Suspicion(Struct):
    """A disagreement that may pass: readers of the log may not have come that far yet."""

    sign: Sign
    since_ms: Millis
    gates: list[Sequence[Reader]]
    noted: Mapping[tuple[Reader, int], int] | None = None
    """The ends of the next gate's topics when it was reached."""


class Reconciler:
    """Looks repeatedly: only disagreements that persist while all readers pass are repaired."""

    def __init__(self, stores: ReconcilerStores) -> None:
        self.stores = stores
        self.suspected: dict[TaskId, _Suspicion] = {}
        self.ended: list[TaskId] = []
        """Unfinished tasks that the last look found to have ended long enough ago."""

        self._stepped: set[tuple[str, int]] = set()
        """Partitions in which the last look made the ledger skip lost records."""

        self._after: TaskId | None = None

    def look(self, young: Iterable[Sequence[TaskVersion]]) -> Sequence[Diverged]:
        """Compare the suspected tasks, the *young* ones and a part of the unfinished ones.

        Return the persistent disagreements.
        """
        suspects = self.suspected
        self.suspected, self.ended = {}, []
        reach = _Reach(self.stores.readers)
        confirmed: list[Diverged] = []
        looked_at: set[TaskId] = set()
        with closing(
            self._pages(list(suspects), young)
        ) as pages:  # whatever fails, nothing stays held
            for page in pages:
                fresh = [task_version for task_version in page if task_version.id not in looked_at]
                looked_at.update(task_version.id for task_version in fresh)
                confirmed += self._compare(fresh, suspects, reach)
        return confirmed

    def mend(self, diverged: Sequence[Diverged]) -> Counter[Divergence]:
        """Repair the first of them; return how many of each kind were repaired.

        A repaired task that is found again becomes a new suspicion.
        """
        mended: Counter[Divergence] = Counter()
        by_kind = sorted(diverged[:MOST_MENDED], key=lambda one: one.kind)
        for kind, members in groupby(by_kind, key=lambda one: one.kind):
            group = list(members)
            mended[kind] += _MENDS[kind](self.stores, group)
            for one in group:
                self.suspected.pop(one.task_version.id, None)
        return mended

    def reconcile(self) -> Counter[Divergence]:
        """Look once more, and repair persistent disagreements."""
        confirmed = self.look(self._passed())
        settled = [one for one in self.ended if one not in self.suspected]
        self.stores.task_versions.leave(settled)
        mended = self.mend(confirmed)
        for one in confirmed[:MOST_MENDED]:
            fields = {
                "task_id": one.task_version.id,
                "kind": one.kind,
                "generation": one.task_version.generation,
            }
            _log.warning("disagreement between ledger and record repaired", extra=fields)
        relisted = self.stores.repairs.relist()
        if relisted:
            _log.warning("owed entries were missing from the due set", extra={"entries": relisted})
            mended[Divergence.UNLISTED] += relisted
        return mended

    def run(self) -> int:
        """Run the whole reconciler, and return how much was repaired.

        Starts with the work that needs no Redis: a rebuild waits for the ledger.
        """
        stores, counters = self.stores, self.stores.counters
        for gap in step_over(stores.readers, stores.whole_rows, stores.ledger, self._stepped):
            counters.count(Count.GAPS, topic=topic_label(gap.topic))
        counters.count(Count.UNSUBMITTED, len(unsubmitted(stores.task_versions)))
        mended = self.reconcile()
        for kind, number in mended.items():
            counters.count(Count.RECONCILED, number, kind=kind)
        return mended.total()

    def _passed(self) -> Iterator[Sequence[TaskVersion]]:
        """Yield the tasks that the window passes.

        The window moves once a whole step was checked and its suspicions were noted, so that
        another process finds them if this one dies.
        """
        for _ in range(_MOST_STEPS):
            with self.stores.task_versions.next_step() as step:
                if step is None:
                    return
                for page in step.pages():
                    yield page
                    step.note([one.id for one in page if one.id in self.suspected])

    def _pages(
        self, suspects: Sequence[TaskId], young: Iterable[Sequence[TaskVersion]]
    ) -> Generator[Sequence[TaskVersion], None, None]:
        for start in range(0, len(suspects), ROWS_AT_A_TIME):
            yield self.stores.task_versions.of(suspects[start : start + ROWS_AT_A_TIME])
        yield from young
        for _ in range(MOST_LOOKED_AT // ROWS_AT_A_TIME):
            page = self.stores.task_versions.unfinished(after=self._after, most=ROWS_AT_A_TIME)
            self._after = page[-1].id if len(page) == ROWS_AT_A_TIME else None
            self.ended += self._ended(page)
            yield page
            if self._after is None:
                return

    def _ended(self, page: Sequence[TaskVersion]) -> list[TaskId]:
        latest = self.stores.clock() - in_ms(_STAYS_UNFINISHED)
        return [one.id for one in page if (one.finished_at_ms or latest) < latest]

    def _compare(
        self, page: Sequence[TaskVersion], before: Mapping[TaskId, _Suspicion], reach: "_Reach"
    ) -> list[Diverged]:
        confirmed: list[Diverged] = []
        for diverged in self._outside_lanes(list(self._diverged(page))):
            suspicion = self._suspicion(diverged, before.get(diverged.task_version.id))
            if suspicion is not None and self._stands(suspicion, reach):
                confirmed.append(diverged)
        return confirmed

    def _diverged(self, page: Sequence[TaskVersion]) -> Iterator[Diverged]:
        snapshots = self.stores.control.see([task_version.id for task_version in page])
        for task_version, snapshot in zip(page, snapshots, strict=True):
            kind = divergence(task_version, snapshot, now=self.stores.clock())
            if kind is not None and isinstance(snapshot, TaskSnapshot | Absent):
                yield Diverged(kind=kind, task_version=task_version, snapshot=snapshot)

    def _outside_lanes(self, found: Sequence[Diverged]) -> Sequence[Diverged]:
        """Leave out what stands in its lane, or in one that is being rebuilt."""
        placed = [one.place for one in found if one.place is not None]
        if not placed:
            return found
        held = dict(zip(placed, self.stores.lanes.holds(placed), strict=True))
        return [one for one in found if one.place is None or held[one.place] is False]

    def _suspicion(self, diverged: Diverged, known: _Suspicion | None) -> _Suspicion | None:
        """Return the suspicion and its start; None when the task is checked later."""
        task_id, is_full = diverged.task_version.id, len(self.suspected) >= MOST_SUSPECTED
        if known is not None and known.sign == diverged.sign:
            self.suspected[task_id] = known
        elif is_full and diverged.kind is Divergence.NOT_QUEUED:
            return None  # a backlog looks like this and would be remembered as a whole
        elif task_id not in self.suspected:
            suspicion = _Suspicion(diverged.sign, self.stores.clock(), _gates(diverged))
            self.suspected[task_id] = suspicion
        return self.suspected[task_id]

    def _stands(self, suspicion: _Suspicion, reach: "_Reach") -> bool:
        if self.stores.clock() - suspicion.since_ms < in_ms(PATIENCE):
            return False
        while suspicion.gates:
            gate = suspicion.gates[0]
            if suspicion.noted is None:
                suspicion.noted = reach.ends(gate)
            if not reach.is_past(gate, suspicion.noted):
                return False
            suspicion.gates.pop(0)
            suspicion.noted = None
        return True


def _gates(diverged: Diverged) -> list[Sequence[Reader]]:
    """Return the readers that must have caught up before a disagreement counts."""
    match diverged.kind:
        case Divergence.LEDGER_BEHIND:
            return [[topics.RECORDER_PENDING, topics.RECORDER_EVENTS]]
        case Divergence.NOT_QUEUED:
            return [[topics.DISPATCHER]]
        case Divergence.RECORD_BEHIND | Divergence.RECORD_MISSING | Divergence.UNLISTED:
            return []


class _Reach:
    """Positions of readers, fetched once for each of them in a look."""

    def __init__(self, readers: LogReaders) -> None:
        self._readers = readers
        self._known: dict[Reader, Mapping[int, tuple[int, int]]] = {}

    def ends(self, gate: Sequence[Reader]) -> Mapping[tuple[Reader, int], int]:
        return {
            (reader, partition): end
            for reader in gate
            for partition, (end, _) in self._of(reader).items()
        }

    def is_past(self, gate: Sequence[Reader], noted: Mapping[tuple[Reader, int], int]) -> bool:
        """Return whether the gate's readers have passed *noted*; a missing topic never is."""
        return all(self._of(reader) for reader in gate) and all(
            self._of(reader)[partition][1] >= end for (reader, partition), end in noted.items()
        )

    def _of(self, reader: Reader) -> Mapping[int, tuple[int, int]]:
        if reader not in self._known:
            places = self._readers.reach([reader])
            self._known[reader] = {
                partition: (one.end, one.place) for (_, partition), one in places.items()
            }
        return self._known[reader]


def _publish_facts(stores: ReconcilerStores, diverged: Sequence[Diverged]) -> int:
    facts = [
        fact
        for one in diverged
        if isinstance(one.snapshot, TaskSnapshot)
        for fact in one.snapshot.last
    ]
    stores.bus.send_facts(facts)
    stores.bus.flush()
    return len(diverged)


def _raise_records(stores: ReconcilerStores, diverged: Sequence[Diverged]) -> int:
    views = _views(stores, diverged)
    orders = [
        RepairOrder(seen=one.seen, view=views[one.task_version.id])
        for one in diverged
        if one.task_version.id in views and _is_raised(one, views[one.task_version.id])
    ]
    answers = stores.repairs.repair(orders)
    return sum(answer is RepairAnswer.DONE for answer in answers)


def _is_raised(diverged: Diverged, view: HotView) -> bool:
    """Return whether the ledger is now at least as far as the version seen in Redis."""
    if isinstance(diverged.snapshot, Absent):
        return True
    row, task = view.row, view.envelope
    return (task.generation, row.status.is_final, task.turn) >= position_of(diverged.snapshot)


def _requeue(stores: ReconcilerStores, diverged: Sequence[Diverged]) -> int:
    views = _views(stores, diverged)
    envelopes = [view.envelope for view in views.values()]
    enter([RawEnvelope(one, codec.encode(one)) for one in envelopes], stores, past=True)
    return len(views)


def _views(stores: ReconcilerStores, diverged: Sequence[Diverged]) -> Mapping[TaskId, HotView]:
    rows = stores.whole_rows.of([one.task_version.id for one in diverged])
    return {row.id: hot_view(row, row.spec) for row in rows if row.spec}


_MENDS: Mapping[Divergence, Callable[[ReconcilerStores, Sequence[Diverged]], int]] = {
    Divergence.LEDGER_BEHIND: _publish_facts,
    Divergence.RECORD_BEHIND: _raise_records,
    Divergence.RECORD_MISSING: _raise_records,
    Divergence.NOT_QUEUED: _requeue,
}


def unsubmitted(task_versions: TaskVersions) -> Sequence[TaskId]:
    """Return tasks with facts but, an hour later, no submission; a hundred at most."""
    ids = task_versions.unsubmitted(age=SUBMISSION_IS_LOST, most=MOST_UNSUBMITTED)
    if ids:
        _log.error("facts without a submission", extra={"tasks": len(ids), "task_ids": ids[:10]})
    return ids
