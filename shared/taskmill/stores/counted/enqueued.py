"""What becomes of requests that were enqueued, counted."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta

from taskmill.core.counting import Count
from taskmill.core.dismissal import Dismissal
from taskmill.core.ports import Counters
from taskmill.core.refusal import Refusal
from taskmill.core.task import TaskId
from taskmill.submission.enqueued import Backlog, Enqueue, Enqueued, LookBack
from taskmill.submission.ports import HeldRequests, Requests


class CountedRequests:
    def __init__(self, requests: Requests, counters: Counters) -> None:
        self._requests = requests
        self._counters = counters

    def add(self, requests: Sequence[Enqueue]) -> None:
        self._requests.add(requests)

    def is_any_waiting(self) -> bool:
        return self._requests.is_any_waiting()

    @contextmanager
    def held(self, *, most: int) -> Iterator[HeldRequests]:
        with self._requests.held(most=most) as held:
            counted = CountedHeldRequests(held)
            yield counted
        for answer, rows in counted.told.items():
            self._counters.count(Count.ENQUEUED, rows, answer=answer)
        self._counters.count(Count.ENQUEUED_IN_VAIN, counted.parked)

    def take_up(self, types: Collection[str], *, parked_within: timedelta) -> int:
        return self._requests.take_up(types, parked_within=parked_within)

    def find(self, task_id: TaskId) -> Enqueued | None:
        return self._requests.find(task_id)

    def page(
        self, *, is_parked: bool, before: int | None, most: int, is_discarded: bool = False
    ) -> Sequence[Enqueued]:
        return self._requests.page(
            is_parked=is_parked, before=before, most=most, is_discarded=is_discarded
        )

    def discard(self, task_id: TaskId, discard: Dismissal) -> Enqueued | None:
        return self._requests.discard(task_id, discard)

    def backlog(self, *, most: int) -> Backlog:
        return self._requests.backlog(most=most)


class CountedHeldRequests:
    """What is said counts at the end: an alarm looks at what was parked."""

    def __init__(self, held: HeldRequests) -> None:
        self._held = held
        self.told = {"taken": 0, "put_off": 0}
        self.parked = 0

    @property
    def rows(self) -> Sequence[Enqueued]:
        return self._held.rows

    def look_back(self, rows: Sequence[Enqueued]) -> LookBack:
        return self._held.look_back(rows)

    def mark_done(self, rows: Sequence[Enqueued]) -> None:
        self._held.mark_done(rows)
        self.told["taken"] += len(rows)

    def park(self, row: Enqueued, why: Refusal) -> None:
        self._held.park(row, why)
        self.parked += 1

    def put_off(self, rows: Sequence[Enqueued], by: timedelta) -> None:
        self._held.put_off(rows, by)
        self.told["put_off"] += len(rows)
