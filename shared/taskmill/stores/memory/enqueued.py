"""Enqueued requests, in memory."""

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import accumulate

from msgspec.structs import replace

from taskmill.core.errors import StoreUnavailable
from taskmill.core.ports import Clock
from taskmill.core.refusal import Dismissal, Refusal
from taskmill.core.task import Millis, TaskId
from taskmill.core.time import in_ms
from taskmill.stores.memory.ledger import MemoryLedger
from taskmill.submission.enqueued import (
    LARGEST_REQUEST,
    LEDGER_MAY_LAG,
    MAY_BE_FORGOTTEN,
    OCTETS_HELD,
    Backlog,
    Enqueue,
    Enqueued,
    LookBack,
    ParkedRequest,
)

STORE = "PostgreSQL"


@dataclass(slots=True, kw_only=True)
class EnqueuedRow:
    row: Enqueued
    done_at_ms: Millis | None = None
    not_before_ms: int = 0
    is_held: bool = False

    @property
    def is_waiting(self) -> bool:
        return self.done_at_ms is None and self.row.parked is None


class MemoryRequests:
    """While `is_away`, it is unavailable."""

    def __init__(self, clock: Clock, ledger: Callable[[], MemoryLedger] = MemoryLedger) -> None:
        self.is_away = False
        self.kept: list[EnqueuedRow] = []
        self._clock = clock
        self._ledger = ledger
        self._last_number = 0

    def add(self, requests: Sequence[Enqueue]) -> None:
        self._ask()
        for one in requests:
            self._last_number += 1
            row = Enqueued(
                number=self._last_number,
                tenant=one.tenant,
                task_id=one.task_id,
                submission=one.submission,
                request=one.request,
                octets=len(one.request),
                created_at_ms=self._clock(),
            )
            self.kept.append(EnqueuedRow(row=row))

    def is_any_waiting(self) -> bool:
        self._ask()
        return bool(self._line())

    @contextmanager
    def held(self, *, most: int) -> Iterator["MemoryHeldRequests"]:
        self._ask()
        free = _readable([entry for entry in self._line() if not entry.is_held][:most])
        for entry in free:
            entry.is_held = True
        hold = MemoryHeldRequests(free, self._clock, self._ledger)
        try:
            yield hold
            self._ask()
            hold.commit()
        finally:
            for entry in free:
                entry.is_held = False

    def take_up(self, types: Collection[str], *, parked_within: timedelta) -> int:
        self._ask()
        since = self._clock() - in_ms(parked_within)
        candidates = [entry for entry in self.kept if _wants(entry.row, since)]
        ready = [
            entry for entry in candidates if json.loads(entry.row.request or b"")["type"] in types
        ]
        for entry in ready:
            entry.row = replace(entry.row, parked=None)
        return len(ready)

    def find(self, task_id: TaskId) -> Enqueued | None:
        self._ask()
        rows = [one for one in self.kept if one.row.task_id == task_id and one.done_at_ms is None]
        rows.sort(key=lambda entry: -entry.row.parked.at_ms if entry.row.parked else float("-inf"))
        return _with_request(rows[0].row) if rows else None

    def page(
        self, *, is_parked: bool, before: int | None, most: int, is_discarded: bool = False
    ) -> Sequence[Enqueued]:
        self._ask()
        rows = [entry.row for entry in reversed(self.kept) if entry.done_at_ms is None]
        matches = [
            row
            for row in rows
            if (row.parked is not None) is is_parked
            and (row.discarded is not None) is (is_parked and is_discarded)
        ]
        page = [row for row in matches if before is None or row.number < before][:most]
        return [replace(row, request=None) for row in page]

    def discard(self, task_id: TaskId, discard: Dismissal) -> Enqueued | None:
        self._ask()
        entries = [
            entry
            for entry in self.kept
            if entry.row.task_id == task_id and entry.row.parked is not None
        ]
        for entry in entries:
            entry.row = replace(entry.row, discarded=entry.row.discarded or discard)
        return replace(entries[-1].row, request=None) if entries else None

    def backlog(self, *, most: int) -> Backlog:
        self._ask()
        waiting = [entry.row for entry in self.kept if entry.is_waiting][:most]
        return Backlog(
            waiting=len(waiting),
            parked=sum(
                entry.row.parked is not None and entry.row.discarded is None for entry in self.kept
            ),
            oldest_at_ms=min((row.created_at_ms for row in waiting), default=None),
        )

    def _line(self) -> list[EnqueuedRow]:
        now = self._clock()
        line = [entry for entry in self.kept if entry.is_waiting and entry.not_before_ms <= now]
        return sorted(line, key=lambda entry: entry.not_before_ms)

    def _ask(self) -> None:
        if self.is_away:
            raise StoreUnavailable(STORE, "it is set to be unavailable")


def _readable(line: Sequence[EnqueuedRow]) -> Sequence[EnqueuedRow]:
    """Return the head of a queue that may be read at once."""
    so_far = accumulate(len(_with_request(entry.row).request or b"") for entry in line)
    return [entry for entry, octets in zip(line, so_far, strict=True) if octets <= OCTETS_HELD]


def _with_request(row: Enqueued) -> Enqueued:
    return row if row.octets <= LARGEST_REQUEST else replace(row, request=None)


def _wants(row: Enqueued, since: int) -> bool:
    parked = row.parked
    if parked is None or row.discarded is not None:
        return False
    return parked.reason == "unknown_type" and parked.at_ms > since


@dataclass(slots=True)
class MemoryHeldRequests:
    kept: Sequence[EnqueuedRow]
    clock: Clock
    ledger: Callable[[], MemoryLedger]
    _changes: dict[int, EnqueuedRow] = field(default_factory=dict)

    @property
    def rows(self) -> Sequence[Enqueued]:
        since = self.clock() - in_ms(MAY_BE_FORGOTTEN)
        return [
            replace(_with_request(one.row), may_be_forgotten=one.row.created_at_ms < since)
            for one in self.kept
        ]

    def look_back(self, rows: Sequence[Enqueued]) -> LookBack:
        ledger = self.ledger()
        ledger.ask()
        since = self.clock() - in_ms(LEDGER_MAY_LAG)
        return LookBack(
            found=frozenset(
                row.submission
                for row in rows
                if (known := ledger.rows.get(row.task_id))
                and known.spec
                and known.spec.submission == row.submission
            ),
            applied=ledger.applied(),
            recent=ledger.applied_since(since),
        )

    def mark_done(self, rows: Sequence[Enqueued]) -> None:
        for row in rows:
            self._changes[row.number] = EnqueuedRow(row=row, done_at_ms=self.clock())

    def park(self, row: Enqueued, why: Refusal) -> None:
        parked = ParkedRequest(
            reason=why.code, detail=why.detail, pointer=why.pointer, at_ms=self.clock()
        )
        self._changes[row.number] = EnqueuedRow(row=replace(row, parked=parked))

    def put_off(self, rows: Sequence[Enqueued], by: timedelta) -> None:
        for row in rows:
            self._changes[row.number] = EnqueuedRow(row=row, not_before_ms=self.clock() + in_ms(by))

    def commit(self) -> None:
        for entry in self.kept:
            if (change := self._changes.get(entry.row.number)) is not None:
                entry.row = change.row
                entry.done_at_ms = change.done_at_ms
                entry.not_before_ms = change.not_before_ms
