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
        free = _readable([kept for kept in self._line() if not kept.is_held][:most])
        for kept in free:
            kept.is_held = True
        held = MemoryHeldRequests(free, self._clock, self._ledger)
        try:
            yield held
            self._ask()
            held.commit()
        finally:
            for kept in free:
                kept.is_held = False

    def take_up(self, types: Collection[str], *, parked_within: timedelta) -> int:
        self._ask()
        since = self._clock() - in_ms(parked_within)
        named = [kept for kept in self.kept if _wants(kept.row, since)]
        known = [kept for kept in named if json.loads(kept.row.request or b"")["type"] in types]
        for kept in known:
            kept.row = replace(kept.row, parked=None)
        return len(known)

    def find(self, task_id: TaskId) -> Enqueued | None:
        self._ask()
        found = [one for one in self.kept if one.row.task_id == task_id and one.done_at_ms is None]
        found.sort(key=lambda kept: -kept.row.parked.at_ms if kept.row.parked else float("-inf"))
        return _as_read(found[0].row) if found else None

    def page(
        self, *, is_parked: bool, before: int | None, most: int, is_discarded: bool = False
    ) -> Sequence[Enqueued]:
        self._ask()
        rows = [kept.row for kept in reversed(self.kept) if kept.done_at_ms is None]
        wanted = [
            row
            for row in rows
            if (row.parked is not None) is is_parked
            and (row.discarded is not None) is (is_parked and is_discarded)
        ]
        page = [row for row in wanted if before is None or row.number < before][:most]
        return [replace(row, request=None) for row in page]

    def discard(self, task_id: TaskId, discard: Dismissal) -> Enqueued | None:
        self._ask()
        refused = [
            kept
            for kept in self.kept
            if kept.row.task_id == task_id and kept.row.parked is not None
        ]
        for kept in refused:
            kept.row = replace(kept.row, discarded=kept.row.discarded or discard)
        return replace(refused[-1].row, request=None) if refused else None

    def backlog(self, *, most: int) -> Backlog:
        self._ask()
        waiting = [kept.row for kept in self.kept if kept.is_waiting][:most]
        return Backlog(
            waiting=len(waiting),
            parked=sum(
                kept.row.parked is not None and kept.row.discarded is None for kept in self.kept
            ),
            oldest_at_ms=min((row.created_at_ms for row in waiting), default=None),
        )

    def _line(self) -> list[EnqueuedRow]:
        now = self._clock()
        line = [kept for kept in self.kept if kept.is_waiting and kept.not_before_ms <= now]
        return sorted(line, key=lambda kept: kept.not_before_ms)

    def _ask(self) -> None:
        if self.is_away:
            raise StoreUnavailable(STORE, "it is set to be unavailable")


def _readable(line: Sequence[EnqueuedRow]) -> Sequence[EnqueuedRow]:
    """Return the head of a queue that may be read at once."""
    so_far = accumulate(len(_as_read(kept.row).request or b"") for kept in line)
    return [kept for kept, octets in zip(line, so_far, strict=True) if octets <= OCTETS_HELD]


def _as_read(row: Enqueued) -> Enqueued:
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
    _said: dict[int, EnqueuedRow] = field(default_factory=dict)

    @property
    def rows(self) -> Sequence[Enqueued]:
        since = self.clock() - in_ms(MAY_BE_FORGOTTEN)
        return [
            replace(_as_read(one.row), may_be_forgotten=one.row.created_at_ms < since)
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
            self._said[row.number] = EnqueuedRow(row=row, done_at_ms=self.clock())

    def park(self, row: Enqueued, why: Refusal) -> None:
        parked = ParkedRequest(
            reason=why.code, detail=why.detail, pointer=why.pointer, at_ms=self.clock()
        )
        self._said[row.number] = EnqueuedRow(row=replace(row, parked=parked))

    def put_off(self, rows: Sequence[Enqueued], by: timedelta) -> None:
        for row in rows:
            self._said[row.number] = EnqueuedRow(row=row, not_before_ms=self.clock() + in_ms(by))

    def commit(self) -> None:
        for kept in self.kept:
            if (said := self._said.get(kept.row.number)) is not None:
                kept.row = said.row
                kept.done_at_ms = said.done_at_ms
                kept.not_before_ms = said.not_before_ms
