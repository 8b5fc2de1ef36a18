"""Rebuilding cold shards and repairing records, in memory."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta

from msgspec.structs import replace

from taskmill.core.lifetimes import UNKEYED_RECORD, USUAL, WINDOW_BEHIND, Lifetimes
from taskmill.core.owed import Cold, Owed, OwedKey, OwedKind
from taskmill.core.ports import Clock
from taskmill.core.task import Envelope, Millis, Status, TaskId, TaskType
from taskmill.core.time import FAR_RECORD, in_ms
from taskmill.lanes.lane import lane_of
from taskmill.ledger.projection import Row
from taskmill.orders.control import Moment
from taskmill.recovery.divergence import RepairAnswer, RepairOrder, TaskVersion
from taskmill.recovery.health import LaneHealth, ShardHealth, ShardState
from taskmill.recovery.placement import InDueSet, InFlight, InLine, Placement
from taskmill.recovery.ports import Step, UnreadableKey
from taskmill.recovery.restoration import HotView, Restoration
from taskmill.stores.memory.hot import CLOSED, UNLISTED, Holding, MemoryHot, Record, record_of
from taskmill.stores.memory.ledger import MemoryLedger
from taskmill.submission.ports import Catalogue

_SHARDS = frozenset({0})


class MemoryColdShards:
    def __init__(
        self,
        hot: MemoryHot,
        *,
        lifetimes: Lifetimes = USUAL,
    ) -> None:
        self._hot = hot
        self._lease = in_ms(lifetimes.lease)
        self._window = lifetimes.window
        self._grace = lifetimes.grace
        self._nonce_stays = in_ms(lifetimes.nonce_stays)

    def shard_of(self, _task_id: TaskId) -> int:
        return 0

    def are_some(self) -> bool:
        return not self._hot.is_open

    def begin(self, nonce: str) -> frozenset[int]:
        if self._hot.is_open or self._nonce():
            return frozenset()
        self._hot.rebuild = (nonce, self._hot.clock() + self._nonce_stays)
        return _SHARDS

    def keep(self, nonce: str, shards: Collection[int]) -> frozenset[int]:
        if self._nonce() != nonce:
            return frozenset()
        self._hot.rebuild = (nonce, self._hot.clock() + self._nonce_stays)
        return _SHARDS & set(shards)

    def leave(self, nonce: str, _shards: Collection[int]) -> None:
        if self._nonce() == nonce:
            self._hot.rebuild = None

    def held(self, _shards: Collection[int]) -> Iterator[Sequence[TaskId]]:
        yield list(self._hot.records)

    def restore(self, nonce: str, tasks: Sequence[HotView]) -> Sequence[Restoration]:
        return [self._restore(nonce, task) for task in tasks]

    def open(self, nonce: str, shards: Collection[int]) -> frozenset[int]:
        if self._nonce() != nonce:
            return frozenset()
        self._hot.open()
        self._hot.rebuild = None
        return _SHARDS & set(shards)

    def _nonce(self) -> str | None:
        if self._hot.rebuild is None or self._hot.rebuild[1] <= self._hot.clock():
            return None
        return self._hot.rebuild[0]

    def _restore(self, nonce: str, view: HotView) -> Restoration:
        if self._nonce() != nonce or self._hot.is_open:
            return Restoration.START_AGAIN
        row, known = view.row, self._hot.record(view.envelope.id)
        is_as_in_ledger = known is not None and _is_as_in_ledger(view, known)
        is_further = known is None or (not is_as_in_ledger and _is_further(view, known))
        if known is not None and is_further and row.status is Status.SCHEDULED:
            self._hot.due.pop(_turn_of(view.envelope.id, known), None)
        if known is None or is_further:
            record = written(self._hot, view, window=self._window, grace=self._grace)
        else:
            record = known
        if known is not None:
            record.token = max(known.token, row.largest_token)
            if known.generation == row.generation:
                record.losses = max(known.losses, row.losses)
        if view.is_far and record.status in {Status.QUEUED, Status.SCHEDULED}:
            if is_further:
                self._keep_for_its_key(record)
        elif not record.status.is_final:
            self._wait_for_worker(view, record)
        elif is_as_in_ledger:
            _let_end(self._hot, record, task_id=row.id, window=self._window, grace=self._grace)
        return Restoration.RESTORED if is_further else Restoration.KEPT

    def _keep_for_its_key(self, record: Record) -> None:
        record.is_key_alone = True
        if not record.is_keyed:
            record.ends_at_ms = self._hot.clock() + in_ms(FAR_RECORD)

    def _wait_for_worker(self, view: HotView, record: Record) -> None:
        until = self._hot.clock() + self._lease
        limit = record.holding.limit_ms if record.holding else None
        record.holding = Holding(until_ms=until, limit_ms=limit, source=None)
        task = view.envelope
        if record.generation == task.generation and view.row.cancel_requested:
            record.cancel_requested = True
        is_same_turn = (record.generation, record.turn) == (task.generation, task.turn)
        waits = record.status in {Status.RETRYING, Status.SCHEDULED}
        if is_same_turn and waits and view.due_at_ms is not None:
            self._hot.due.setdefault(view.name, (view.due_at_ms, view.owed))


def written(hot: MemoryHot, view: HotView, *, window: timedelta, grace: timedelta) -> Record:
    """Create the record for *view*, replacing any earlier one."""
    row, task = view.row, view.envelope
    hot.remove(task.id)
    hot.records[task.id] = record = record_of(task)
    record.status, record.token, record.losses = row.status, row.largest_token, row.losses
    record.attempt, record.started_at_ms = row.attempt, row.started_at_ms
    record.first_started_at_ms = row.first_started_at_ms
    record.waiting, record.ending = view.waiting, view.ending
    record.result = None if row.result is None else bytes(row.result)
    if record.status.is_final:
        _let_end(hot, record, task_id=task.id, window=window, grace=grace)
    return record


def _let_end(
    hot: MemoryHot, record: Record, *, task_id: TaskId, window: timedelta, grace: timedelta
) -> None:
    if record.is_keyed:
        expires = max(hot.clock() + in_ms(grace), record.submitted + in_ms(window))
        hot.lifetimes[task_id] = expires
    else:
        record.ends_at_ms = hot.clock() + in_ms(UNKEYED_RECORD)


def _is_as_in_ledger(view: HotView, known: Record) -> bool:
    row = view.row
    expected = (row.generation, view.envelope.turn, row.status, row.largest_token, row.losses)
    return expected == (known.generation, known.turn, known.status, known.token, known.losses)


def _is_further(view: HotView, known: Record) -> bool:
    task, record = view.envelope, known
    if task.generation != record.generation:
        return task.generation > record.generation
    if record.is_key_alone and not view.is_far and task.turn == record.turn:
        return True
    return view.row.status.is_final or (not record.status.is_final and task.turn > record.turn)


def _turn_of(task_id: TaskId, record: Record) -> OwedKey:
    return OwedKey(id=task_id, generation=record.generation, turn=record.turn, kind=OwedKind.TURN)


class MemoryRepairs:
    def __init__(
        self,
        hot: MemoryHot,
        *,
        lifetimes: Lifetimes = USUAL,
    ) -> None:
        self._hot = hot
        self._lease = in_ms(lifetimes.lease)
        self._window = lifetimes.window
        self._grace = lifetimes.grace

    def repair(self, orders: Sequence[RepairOrder]) -> Sequence[RepairAnswer]:
        return [self._repair(order) for order in orders]

    def relist(self) -> int:
        if not self._hot.is_open:
            return 0
        lost = [name for name, (at, _) in self._hot.due.items() if at == UNLISTED]
        for name in lost:
            self._hot.due[name] = (self._hot.clock(), self._hot.due[name][1])
        return len(lost)

    def _repair(self, order: RepairOrder) -> RepairAnswer:
        if not self._hot.is_open:
            return RepairAnswer.COLD
        known = self._hot.record(order.view.envelope.id)
        if _moment_of(known) != order.seen:
            return RepairAnswer.MOVED
        record = written(self._hot, order.view, window=self._window, grace=self._grace)
        if known is not None:
            record.token = max(record.token, known.token)
            if known.generation == record.generation:
                record.losses = max(record.losses, known.losses)
        if not record.status.is_final:
            until = self._hot.clock() + self._lease
            record.holding = Holding(until_ms=until, limit_ms=None, source=None)
            record.cancel_requested = order.view.row.cancel_requested
            if order.due_at_ms is not None:
                self._hot.due.setdefault(order.view.name, (order.due_at_ms, order.view.owed))
        return RepairAnswer.DONE


def _moment_of(record: Record | None) -> Moment | None:
    return Moment(record.generation, record.turn, record.status) if record else None


class MemoryPlacements:
    def __init__(self, hot: MemoryHot) -> None:
        self._hot = hot

    def place(self, tasks: Sequence[HotView]) -> Sequence[Placement]:
        return [self._place(view) for view in tasks]

    def _place(self, view: HotView) -> Placement:
        if not self._hot.is_open:
            return Cold()
        record = self._hot.record(view.envelope.id)
        if record is not None and self._is_run(view, record):
            return self._in_flight(view, record)
        if record is not None and record.holding and record.holding.until_ms <= self._hot.clock():
            record.holding.until_ms = CLOSED
        is_owed = not (record and _is_past(record, view.envelope)) and self._is_owed(view)
        return InDueSet() if is_owed else InLine()

    def _is_run(self, view: HotView, record: Record) -> bool:
        """Return whether a lease lives; one of nobody says little of a turn whose time is ahead."""
        holding = record.holding
        if holding is None or holding.until_ms <= self._hot.clock():
            return False
        return holding.source is not None or not self._is_early(view)

    def _in_flight(self, view: HotView, record: Record) -> InFlight:
        until = record.holding.until_ms if record.holding else 0
        return InFlight(
            envelope=replace(
                view.envelope,
                generation=record.generation,
                turn=record.turn,
                attempt=record.attempt,
            ),
            look_after=timedelta(milliseconds=until - self._hot.clock()),
        )

    def _is_early(self, view: HotView) -> bool:
        return view.due_at_ms is not None and view.due_at_ms > self._hot.clock()

    def _is_owed(self, view: HotView) -> bool:
        """Return whether the due set has the turn, which it gets if its time is still ahead."""
        if view.due_at_ms is None:
            return False
        if self._is_early(view):
            self._hot.due.setdefault(view.name, (view.due_at_ms, view.owed))
        return view.name in self._hot.due


def _is_past(record: Record, task: Envelope) -> bool:
    if record.generation != task.generation:
        return record.generation > task.generation
    return record.status.is_final or record.turn > task.turn


class MemoryShards:
    def __init__(self, hot: MemoryHot) -> None:
        self._hot = hot

    def check(self) -> Sequence[ShardHealth]:
        now = self._hot.clock()
        if not self._hot.is_open:
            is_rebuilt = self._hot.rebuild is not None and self._hot.rebuild[1] > now
            return [ShardHealth(state=ShardState.REBUILDING if is_rebuilt else ShardState.COLD)]
        moments = [at for at, _ in self._hot.due.values()]
        return [
            ShardHealth(
                state=ShardState.LIVE,
                overdue_ms=max(0, now - min(moments, default=now)),
                unlisted=moments.count(UNLISTED),
            )
        ]


class MemoryLaneStates:
    def __init__(self, hot: MemoryHot, catalogue: Catalogue) -> None:
        self._hot = hot
        self._catalogue = catalogue

    def check(self) -> Sequence[LaneHealth]:
        types = [entry.name for entry in self._catalogue.entries()]
        return [LaneHealth(type=one, state=self._state(one)) for one in types]

    def _state(self, task_type: TaskType) -> ShardState:
        lane = self._hot.lanes[lane_of(task_type)]
        if lane.is_open:
            return ShardState.LIVE
        is_rebuilt = lane.nonce(self._hot.clock()) is not None
        return ShardState.REBUILDING if is_rebuilt else ShardState.COLD


class MemoryUnreadable:
    """Finds nothing: no other program writes to the memory of this process."""

    def __init__(self, hot: MemoryHot) -> None:
        self._hot = hot

    def found(self) -> Sequence[UnreadableKey]:
        return ()

    def owed(self, ids: Sequence[TaskId]) -> Sequence[tuple[OwedKey, Owed]]:
        return [(name, owed) for name, (_, owed) in self._hot.due.items() if name.id in ids]

    def drop(self, ids: Sequence[TaskId]) -> None:
        """There is nothing to remove."""

    def leave(self, entries: Sequence[UnreadableKey]) -> int:
        return len(entries)


class MemoryTaskVersions:
    def __init__(
        self,
        ledger: Callable[[], MemoryLedger],
        clock: Clock,
        *,
        behind: timedelta = WINDOW_BEHIND,
    ) -> None:
        self._ledger = ledger
        self._clock = clock
        self._behind = in_ms(behind)
        self._until = 0
        self._apart: set[TaskId] = set()

    @contextmanager
    def next_step(self) -> Iterator[Step | None]:
        until = self._clock() - self._behind
        if until <= self._until:
            yield None
            return
        passed = [row for row in self._rows() if self._until < _age(row) <= until]
        step = _HeldStep([self._version(row) for row in passed])
        yield step
        self._until = until
        far = self._ledger().far_tasks
        waits = {row.id for row in passed if not row.status.is_final and row.id not in far}
        self._apart |= waits | step.noted

    def young(self, *, since_ms: Millis) -> Iterator[Sequence[TaskVersion]]:
        yield [self._version(row) for row in self._rows() if _age(row) > since_ms]

    def unfinished(self, *, after: TaskId | None, most: int) -> Sequence[TaskVersion]:
        noted = self._apart | self._ledger().brought_near
        line = sorted(row.id for row in self._rows() if row.id in noted)
        return self.of([one for one in line if after is None or one > after][:most])

    def unsubmitted(self, *, age: timedelta, most: int) -> Sequence[TaskId]:
        self._ledger().ask()
        latest = self._clock() - in_ms(age)
        rows = self._ledger().rows.values()
        return sorted(row.id for row in rows if not row.spec and row.generation < latest)[:most]

    def of(self, ids: Sequence[TaskId]) -> Sequence[TaskVersion]:
        return [self._version(row) for row in self._ledger().of(ids)]

    def leave(self, ids: Sequence[TaskId]) -> None:
        self._apart -= set(ids)
        self._ledger().brought_near -= set(ids)

    def _rows(self) -> list[Row]:
        ledger = self._ledger()
        ledger.ask()
        return [row for row in ledger.rows.values() if row.spec]

    def _version(self, row: Row) -> TaskVersion:
        return _task_version(row, is_shelved=self._ledger().is_shelved(row.id))


class _HeldStep:
    def __init__(self, passed: Sequence[TaskVersion]) -> None:
        self._passed = passed
        self.noted: set[TaskId] = set()

    def pages(self) -> Iterator[Sequence[TaskVersion]]:
        yield self._passed

    def note(self, ids: Sequence[TaskId]) -> None:
        self.noted.update(ids)


def _age(row: Row) -> int:
    return row.spec.created_at_ms if row.spec else 0


def _task_version(row: Row, *, is_shelved: bool) -> TaskVersion:
    return TaskVersion(
        id=row.id,
        type=row.type,
        status=row.status,
        generation=row.generation,
        turn=row.turn,
        due_at_ms=row.due_at_ms,
        finished_at_ms=row.finished_at_ms,
        is_shelved=is_shelved,
    )
