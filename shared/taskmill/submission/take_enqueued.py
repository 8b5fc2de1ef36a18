"""Turns enqueued requests into tasks, and parks those that can never become one."""

import logging
from collections.abc import Sequence
from datetime import timedelta
from typing import Final, Protocol, TypeAlias, assert_never

from msgspec import Struct

from taskmill.core import topics
from taskmill.core.errors import StoreUnavailable
from taskmill.core.ports import Bus, LogEnds
from taskmill.core.refusal import Refusal, RefusalKind, invalid, key_reused
from taskmill.core.task import Envelope, Submission, TaskId
from taskmill.core.view import Nowhere, ReadRefused, TaskView
from taskmill.submission.enqueued import LARGEST_REQUEST, TYPE_MAY_COME, Enqueued
from taskmill.submission.known_keys import has_a_task
from taskmill.submission.ports import Admission, Blobs, Catalogue, HeldRequests, Records, Requests
from taskmill.submission.read import read_request, read_submission, read_value
from taskmill.submission.submission import InLog, KeyReused, NotNow, named, view_of
from taskmill.submission.take import take

ROWS_AT_A_TIME: Final = 200
LOOKS_AT_A_TIME: Final = 20
"""How many requests to the bucket fit well within the hold time."""

ROUNDS: Final = 20
REST: Final = timedelta(seconds=1)
"""How long a request that cannot be taken now is passed over in favour of others."""

REST_WITHOUT_THE_LEDGER: Final = timedelta(seconds=10)
"""How long the ledger may need to reach the end of the log."""

_log = logging.getLogger("taskmill.take_requests")


class RequestStores(Protocol):
    """Ports for reading and taking requests from the table."""

    @property
    def admission(self) -> Admission: ...

    @property
    def blobs(self) -> Blobs: ...

    @property
    def bus(self) -> Bus: ...

    @property
    def catalogue(self) -> Catalogue: ...

    @property
    def log_ends(self) -> LogEnds: ...

    @property
    def records(self) -> Records: ...

    @property
    def requests(self) -> Requests: ...


class RequestTaker:
    def __init__(self, stores: RequestStores) -> None:
        self._stores = stores

    def take(self) -> int:
        """Take waiting requests, and return how many left the queue.

        A marked row is in the log. After a death on any line, rows are only taken again, as the
        same submissions: admitted ones are then published again, or known to be published. Redis
        remembers them for at least an hour; for older rows the ledger is asked first.
        """
        moved = 0
        for _ in range(ROUNDS):
            if not self._stores.requests.is_any_waiting():
                break
            with self._stores.requests.held(most=ROWS_AT_A_TIME) as requests:
                count, later = _Round(self._stores, requests).work()
            moved += count
            if later and not count:
                raise StoreUnavailable("a store needed for taking requests", later[0].why)
        return moved


class ParkedStores(Protocol):
    """Ports for retrying parked requests."""

    @property
    def catalogue(self) -> Catalogue: ...

    @property
    def requests(self) -> Requests: ...


class ParkedRequests:
    def __init__(self, stores: ParkedStores) -> None:
        self._stores = stores

    def take_up(self) -> int:
        """Requeue parked requests whose type has been deployed since."""
        types = [entry.name for entry in self._stores.catalogue.entries()]
        return self._stores.requests.take_up(types, parked_within=TYPE_MAY_COME)


def look_at_request(
    task_id: TaskId, requests: Requests, catalogue: Catalogue
) -> TaskView | Nowhere | None:
    """Return what will be the task, or its refusal; None if there is no request."""
    row = requests.find(task_id)
    if row is None:
        return None
    if row.parked is not None:
        parked = row.parked
        return Nowhere(ReadRefused(parked.reason, parked.detail, parked.pointer))
    value = read_value(row.request) if row.request is not None else _too_large(row)
    if isinstance(value, Refusal):
        return Nowhere(ReadRefused(value.code, value.detail, value.pointer))
    submission = read_submission(value, None, catalogue, now=row.created_at_ms)
    if isinstance(submission, Refusal):
        return Nowhere(ReadRefused(submission.code, submission.detail, submission.pointer))
    return view_of(_envelope(row, submission))


_Read: TypeAlias = tuple[Enqueued, Envelope]


class _Round(Struct):
    stores: RequestStores
    held: HeldRequests
    looks: int = 0
    absent: str | None = None
    """Why the bucket is no longer called."""

    def work(self) -> tuple[int, list[NotNow]]:
        """Return how many left the queue, and why others did not."""
        forgotten, rows = self._known_and_unknown()
        pairs, moved = self._read(rows)
        answers = take(
            [envelope for _, envelope in pairs],
            admission=self.stores.admission,
            bus=self.stores.bus,
        )
        done = list(forgotten)
        later: list[tuple[Enqueued, NotNow]] = []
        for (row, _), answer in zip(pairs, answers, strict=True):
            match answer:
                case InLog():
                    done.append(row)
                case KeyReused(task_id):
                    self._park(row, key_reused(task_id))
                    moved += 1
                case NotNow():
                    later.append((row, answer))
                case _:
                    assert_never(answer)
        if done:
            self.held.mark_done(done)
        moved += len(done)
        if moved:  # otherwise all of them wait for the same store, and the whole queue rests
            self.held.put_off([row for row, _ in later], REST)
        return moved, [answer for _, answer in later]

    def _known_and_unknown(self) -> tuple[Sequence[Enqueued], Sequence[Enqueued]]:
        """Return the rows whose tasks Redis may have forgotten, and those that may be taken.

        PostgreSQL may have failed before they were marked, and come back when the tasks were long
        over: admitted again, they would run twice. If the ledger itself lacks part of the log as of
        then, a missing row means nothing, and they wait.
        """
        old = [row for row in self.held.rows if row.may_be_forgotten]
        if not old:
            return [], self.held.rows
        ends = self.stores.log_ends.ends()  # before the ledger, which may advance meanwhile
        past = self.held.look_back(old)
        known = [row for row in old if row.submission in past.found]
        unknown = [row for row in self.held.rows if row not in known]
        if past.is_complete({at: end for at, end in ends.items() if at[0] == topics.PENDING}):
            return known, unknown
        self.held.put_off([row for row in unknown if row in old], REST_WITHOUT_THE_LEDGER)
        return known, [row for row in unknown if row not in old]

    def _read(self, rows: Sequence[Enqueued]) -> tuple[list[_Read], int]:
        """Read the rows, and postpone those whose payloads cannot be looked up now.

        The others are not affected: a long queue of postponed ones would hold everybody up.
        """
        pairs: list[_Read] = []
        blocked: list[Enqueued] = []
        parked = 0
        for row in rows:
            if self.looks >= LOOKS_AT_A_TIME:
                break
            submission = self._submission(row)
            if isinstance(submission, Submission):
                pairs.append((row, _envelope(row, submission)))
            elif submission.kind is RefusalKind.UNAVAILABLE:
                self.absent = submission.detail
                blocked.append(row)
            else:
                self._park(row, submission)
                parked += 1
        if blocked:
            self.held.put_off(blocked, REST)
        return pairs, parked

    def _bucket(self) -> Blobs:
        if self.absent is not None:
            raise StoreUnavailable("S3", self.absent)
        self.looks += 1
        return self.stores.blobs

    def _submission(self, row: Enqueued) -> Submission | Refusal:
        """Read the row as of its own time, so that the result never depends on when it is read."""
        if row.request is None:
            return _too_large(row)
        return read_request(
            row.request,
            None,
            self.stores.catalogue,
            now=row.created_at_ms,
            blobs=self._bucket,
            is_known=lambda submission: has_a_task(submission, self.stores.records),
        )

    def _park(self, row: Enqueued, why: Refusal) -> None:
        self.held.park(row, why)
        _log.error("request parked", extra={"row": row.number, "why": why.code})


def _too_large(row: Enqueued) -> Refusal:
    detail = f"the request has {row.octets} bytes; the limit is {LARGEST_REQUEST}"
    return invalid("invalid_request", detail, "")


def _envelope(row: Enqueued, submission: Submission) -> Envelope:
    """Return the same envelope whenever the row is read."""
    return named(submission, row.task_id, nonce=row.submission, now=row.created_at_ms)
