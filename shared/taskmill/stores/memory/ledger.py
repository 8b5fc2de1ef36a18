"""The ledger in memory: the fold of all facts, with its readers."""

from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec

from taskmill.core.errors import LedgerRefused, StoreUnavailable
from taskmill.core.refusal import Dismissal
from taskmill.core.task import Millis, Spec, Status, TaskId, TaskType, shown
from taskmill.core.topics import FEEDS
from taskmill.core.view import TaskView
from taskmill.lanes.lane import Shelved
from taskmill.lanes.order import order_of
from taskmill.ledger.listing import After, DeadLetter, DeadPage, History, Page, TaskFilter
from taskmill.ledger.projection import (
    Applied,
    HistoryEntry,
    LedgerBatch,
    Quarantined,
    Row,
    coming_back,
    envelope_of,
    going_far,
    in_order,
    is_failure,
    merged,
    with_expiry,
)
from taskmill.ledger.quarantine import Place
from taskmill.recovery.restoration import task_view
from taskmill.stores.memory.outbox import MemoryOutbox

STORE = "PostgreSQL"


class MemoryLedger:
    """The ledger and its rows. While `is_away`, it is unavailable."""

    def __init__(self, outbox: MemoryOutbox | None = None) -> None:
        self.is_away = False
        self.outbox = outbox or MemoryOutbox()
        self.rows: dict[TaskId, Row] = {}
        self.history: dict[tuple[object, ...], HistoryEntry] = {}
        self.quarantined: dict[tuple[object, ...], Quarantined] = {}
        self.discarded: dict[Place, Dismissal] = {}
        self.far_tasks: dict[TaskId, tuple[int, int]] = {}
        """Generation and turn of the tasks kept only here until their time comes near."""
        self.expiries: dict[TaskId, Millis] = {}
        """Latest start times of tasks that were waiting when recorded."""
        self.shelved: dict[tuple[TaskId, int], Shelved] = {}
        """Tasks kept only here because their lines are full, by generation."""
        self.brought_near: set[TaskId] = set()
        self._applied: dict[tuple[str, int], Applied] = {}

    def record(self, batch: LedgerBatch) -> int:
        """Write the whole *batch* or nothing; return how many rows changed nothing."""
        self.ask()
        rows = dict(self.rows)
        for row in batch.rows:
            known = rows.get(row.id)
            rows[row.id] = row if known is None else merged(known, row)
            _check(rows[row.id])
        late = sum(rows[row.id] == self.rows.get(row.id) for row in batch.rows)
        self.rows = rows
        self._keep_far(batch)
        self._keep_expiries(batch)
        self.shelved |= {(one.member.id, one.member.generation): one for one in batch.shelved}
        for entry in batch.history:
            key = (entry.id, entry.generation, entry.turn, entry.kind, entry.subject, entry.at_ms)
            self.history.setdefault(key, entry)
        for refusal in batch.quarantined:
            place = (refusal.topic, refusal.partition, refusal.offset, refusal.member)
            self.quarantined.setdefault(place, refusal)
        for run in batch.applied:
            self._apply(run)
        return late

    def _keep_far(self, batch: LedgerBatch) -> None:
        for row in map(self.rows.__getitem__, going_far(batch)):
            moment = (row.generation, row.turn)
            if row.status is Status.SCHEDULED and moment > self.far_tasks.get(row.id, (0, 0)):
                self.far_tasks[row.id] = moment
        for row in map(self.rows.__getitem__, coming_back(batch)):
            is_over = row.status is not Status.SCHEDULED
            if is_over or (row.generation, row.turn) > self.far_tasks.get(row.id, (0, 0)):
                self.far_tasks.pop(row.id, None)

    def _keep_expiries(self, batch: LedgerBatch) -> None:
        for row in map(self.rows.__getitem__, with_expiry(batch)):
            latest = row.spec.timing.expires_at_ms if row.spec and row.spec.timing else None
            if latest is not None and waits_to_begin(row):
                self.expiries[row.id] = latest

    def _apply(self, run: Applied) -> None:
        place = (run.topic, run.partition)
        known = self._applied.get(place)
        if known is None:
            self._applied[place] = run
        elif run.first <= known.next < run.next:
            as_of_ms = max(known.as_of_ms, run.as_of_ms)
            self._applied[place] = msgspec.structs.replace(run, as_of_ms=as_of_ms)

    def find(self, task_id: TaskId) -> TaskView | None:
        self.ask()
        row = self.rows.get(task_id)
        return task_view(row, shown(row.spec)) if row and row.spec else None

    def fingerprint(self, task_id: TaskId) -> str | None:
        self.ask()
        row = self.rows.get(task_id)
        return row.spec.fingerprint if row and row.spec else None

    def is_shelved(self, task_id: TaskId) -> bool:
        self.ask()
        row = self.rows.get(task_id)
        return row is not None and (row.id, row.generation) in self.shelved

    def payload(self, task_id: TaskId, generation: int) -> bytes | None:
        self.ask()
        row = self.rows.get(task_id)
        is_known = row is not None and row.generation == generation
        return bytes(row.spec.payload) if row and row.spec and is_known else None

    def page(self, criteria: TaskFilter) -> Page:
        self.ask()
        views = [task_view(row, shown(row.spec)) for row in self.rows.values() if row.spec]
        fitting = [view for view in views if _fits(view, criteria)]
        fitting.sort(key=_age, reverse=True)
        page = fitting[: criteria.limit]
        has_more = len(fitting) > criteria.limit
        last = page[-1] if page and has_more else None
        return Page(
            tasks=page,
            next=After(last.spec.created_at_ms, last.id) if last else None,
            as_of_ms=self.as_of_ms(),
        )

    def dead(self, criteria: TaskFilter) -> DeadPage:
        self.ask()
        letters = [
            self._letter(row, row.spec)
            for row in self.rows.values()
            if row.spec and row.status is Status.DEAD
        ]
        fitting = [one for one in letters if _fits_the_dead(one.task, criteria)]
        fitting.sort(key=lambda one: _death(one.task), reverse=True)
        page = fitting[: criteria.limit]
        has_more = len(fitting) > criteria.limit
        return DeadPage(
            letters=page,
            next=After(*_death(page[-1].task)) if page and has_more else None,
            as_of_ms=self.as_of_ms(),
        )

    def history_of(self, task_id: TaskId, *, most: int) -> History:
        self.ask()
        entries = in_order(one for one in self.history.values() if one.id == task_id)
        return History(entries[-most:], self.as_of_ms())

    def _letter(self, row: Row, spec: Spec) -> DeadLetter:
        view = task_view(row, shown(spec))
        died_at_ms, _ = _death(view)
        failures = [
            entry.at_ms
            for entry in self.history.values()
            if (entry.id, entry.generation) == (row.id, row.generation) and is_failure(entry)
        ]
        return DeadLetter(view, min([died_at_ms, *failures]))

    def as_of_ms(self) -> Millis | None:
        feeding = (run for run in self._applied.values() if run.topic in FEEDS)
        shown_ms = min((run.as_of_ms for run in feeding), default=None)
        if shown_ms is None:
            return None
        missing = (entry for entry in self.outbox.kept if entry.is_missing(shown_ms))
        return min([shown_ms, *(entry.since_ms for entry in missing)])

    def applied(self) -> Mapping[tuple[str, int], int]:
        self.ask()
        return {place: run.next for place, run in self._applied.items()}

    def applied_since(self, moment_ms: int) -> frozenset[tuple[str, int]]:
        """Return the partitions of which it knows younger records."""
        return frozenset(place for place, run in self._applied.items() if run.as_of_ms > moment_ms)

    def restorable(self, *, finished: bool) -> Iterator[Sequence[Row]]:
        """Yield the rows from which the hot state is built; some may have ended."""
        self.ask()
        yield [
            row
            for row in self.rows.values()
            if row.spec and row.status.is_final == finished and not self._is_only_here(row)
        ]

    def unfinished(self, types: Collection[TaskType]) -> Iterator[Sequence[Row]]:
        """Yield the unfinished tasks of these types, except far ones."""
        for rows in self.restorable(finished=False):
            if found := [row for row in rows if row.type in types]:
                yield sorted(found, key=_order)

    def far(self) -> Iterator[Sequence[Row]]:
        """Yield what keys need of the tasks kept only in the ledger."""
        self.ask()
        yield [
            row
            for row in self.rows.values()
            if row.spec and row.spec.idempotency_key and self._is_only_here(row)
        ]

    def _is_only_here(self, row: Row) -> bool:
        """Return whether Redis need not know it: it waits for a time, or for room in its line."""
        if row.status is Status.QUEUED:
            return self.is_shelved(row.id)
        return row.status is Status.SCHEDULED and row.id in self.far_tasks

    def unlisted(self, ids: Sequence[TaskId]) -> Sequence[Row]:
        """Return far tasks without a key: all ended ones are restorable."""
        keyed = {row.id for page in self.far() for row in page}
        return [row for row in self.of(ids) if self._is_only_here(row) and row.id not in keyed]

    def of(self, ids: Sequence[TaskId]) -> Sequence[Row]:
        self.ask()
        rows = (row for row in map(self.rows.get, ids) if row and row.spec)
        return [
            msgspec.structs.replace(row, is_shelved=True) if self.is_shelved(row.id) else row
            for row in rows
        ]

    def ask(self) -> None:
        """Raise when the store is unavailable."""
        if self.is_away:
            raise StoreUnavailable(STORE, "it is set to be unavailable")


def _order(row: Row) -> int:
    return order_of(envelope_of(row, row.spec)) if row.spec else 0


def waits_to_begin(row: Row) -> bool:
    return row.started_at_ms is None and not row.status.is_final


def _check(row: Row) -> None:
    """Refuse a row that the table's constraints forbid."""
    is_legal = (
        row.status.is_final == (row.finished_at_ms is not None)
        and (row.status == "succeeded") == (row.result is not None)
        and (row.status == "succeeded" or row.result_ref is None)
        and (row.status in {"retrying", "scheduled"}) == (row.due_at_ms is not None)
        and (row.status == "retrying" or row.next_attempt is None)
        and (row.status != "dead" or row.reason is not None)
        and (row.status != "running" or row.started_at_ms is not None)
        and (row.generation >= 0 and 0 <= row.token <= row.largest_token and row.losses >= 0)
        and (row.turn >= 1 and row.attempt >= 1)
        and (row.spec is None or row.attempt <= row.spec.max_attempts)
    )
    if not is_legal:
        raise LedgerRefused(f"the row of task {row.id} would violate a constraint")


def _age(view: TaskView) -> tuple[int, str]:
    return view.spec.created_at_ms, view.id


def _fits(view: TaskView, criteria: TaskFilter) -> bool:
    behind = criteria.after
    is_behind = behind is None or _age(view) < (behind.at_ms, behind.id)
    return is_behind and _is_of(view, criteria)


def _death(view: TaskView) -> tuple[Millis, TaskId]:
    return view.ending.finished_at_ms if view.ending else Millis(0), view.id


def _fits_the_dead(view: TaskView, criteria: TaskFilter) -> bool:
    behind, after, before = criteria.after, criteria.dead_after_ms, criteria.dead_before_ms
    ending = view.ending
    return (
        ending is not None
        and _is_of(view, criteria)
        and criteria.reason in {None, ending.reason}
        and criteria.error_class in {None, ending.error_class}
        and (after is None or ending.finished_at_ms > after)
        and (before is None or ending.finished_at_ms < before)
        and (behind is None or _death(view) < (behind.at_ms, behind.id))
    )


def _is_of(view: TaskView, criteria: TaskFilter) -> bool:
    created = view.spec.created_at_ms
    after, before = criteria.created_after_ms, criteria.created_before_ms
    return (
        view.spec.tenant == criteria.tenant
        and criteria.type in {None, view.spec.type}
        and criteria.status in {None, view.status}
        and criteria.metadata.items() <= view.spec.metadata.items()
        and (after is None or created > after)
        and (before is None or created < before)
    )
