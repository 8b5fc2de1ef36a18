"""Finds a task for a reader: its record, its row, or an honest answer."""

from collections.abc import Callable, Mapping
from operator import not_
from typing import Protocol, TypeAlias

from taskmill.core.errors import StoreUnavailable
from taskmill.core.owed import Cold
from taskmill.core.ports import LogEnds, Pause
from taskmill.core.task import Envelope, Status, TaskId, is_keyed
from taskmill.core.view import Absent, Finding, Nowhere, Reading, ReadRefused, TaskView, Unsure
from taskmill.ledger.await_ledger import await_ledger, has_reached
from taskmill.ledger.ports import LedgerRows
from taskmill.submission.outbox import Lost
from taskmill.submission.ports import Outbox, Records

LookAtRequest: TypeAlias = Callable[[TaskId], TaskView | Nowhere | None]
"""Returns what a request in the table will become, or None if there is none."""


def _no_request(_task_id: TaskId) -> None:
    return None


class FindStores(Protocol):
    """The ports of every place where a task may be."""

    @property
    def ledger_rows(self) -> LedgerRows: ...

    @property
    def log_ends(self) -> LogEnds: ...

    @property
    def outbox(self) -> Outbox: ...

    @property
    def pause(self) -> Pause: ...

    @property
    def records(self) -> Records: ...


class TaskFinder:
    """*look_at_request* returns what a request without a task yet will become."""

    def __init__(self, stores: FindStores, look_at_request: LookAtRequest = _no_request) -> None:
        self._stores = stores
        self._look_at_request = look_at_request

    def find(self, task_id: TaskId) -> Finding:
        """Return the task, or that there is none, or that the answer is unknown for now.

        The outbox and the requests are read before the log's ends: what is published meanwhile is
        after those ends, or in the ledger. PostgreSQL is opened only if there is no record.
        """
        reading = _read(task_id, self._stores.records)
        if isinstance(reading, TaskView):
            return reading
        try:
            return self._without_record(task_id, reading)
        except StoreUnavailable as error:
            return Unsure(f"{error.store} cannot be reached", is_away=True)

    def _without_record(self, task_id: TaskId, reading: Absent | Cold) -> Finding:
        outbox, ledger = self._stores.outbox, self._stores.ledger_rows
        log_ends, pause = self._stores.log_ends, self._stores.pause
        # A key may have been reused, and the ledger then knows only the previous life. An id
        # without a key has one life, and the ledger alone knows its end.
        unsent = outbox.find(task_id) if is_keyed(task_id) else None
        row = ledger.find(task_id)
        if row is not None and not _is_before(row, unsent):
            if row.status.is_final and isinstance(reading, Cold):
                return _unless_redriven(row, ledger, log_ends, pause)
            is_reported = _is_reported(row, reading, ledger)
            return row if is_reported else Unsure("its record cannot be read now")
        if not is_keyed(task_id):
            unsent = outbox.find(task_id)
        if isinstance(unsent, Envelope):
            return Unsure("it was accepted and waits for Kafka")
        if unsent is not None:
            return Nowhere(ReadRefused("unpublishable", unsent.why, None))
        if isinstance(reading, Cold):
            return Unsure("its record cannot be read now, and it is not in the ledger yet")
        coming = self._look_at_request(task_id)
        if coming is not None:
            return coming
        return _silence(task_id, ledger, log_ends.ends(), pause)


class LedgerStores(Protocol):
    """The port for reading the ledger alone."""

    @property
    def ledger_rows(self) -> LedgerRows: ...


class LedgerFinder:
    """Finds what the ledger has of a task, for work that need not consult other stores."""

    def __init__(self, stores: LedgerStores) -> None:
        self._stores = stores

    def find(self, task_id: TaskId) -> Finding:
        return self._stores.ledger_rows.find(task_id) or Nowhere()


def _is_before(row: TaskView, unsent: Envelope | Lost | None) -> bool:
    """Return whether a later life of the task is still in the log; unknown for a deferred one."""
    if not isinstance(unsent, Envelope):
        return False
    return unsent.deferred or unsent.generation > row.generation


def _is_reported(row: TaskView, reading: Reading, ledger: LedgerRows) -> bool:
    """Return whether the ledger alone can answer: for ended tasks, and those it alone keeps."""
    if row.status.is_final or not isinstance(reading, Absent):
        return row.status.is_final
    is_queued = row.status is Status.QUEUED
    return row.status is Status.SCHEDULED or (is_queued and ledger.is_shelved(row.id))


def _read(task_id: TaskId, records: Records) -> Reading:
    try:
        return records.read([task_id])[0]
    except StoreUnavailable:
        return Cold()


def _unless_redriven(row: TaskView, ledger: LedgerRows, log_ends: LogEnds, pause: Pause) -> Finding:
    """Return an end that Redis cannot confirm: the log may contain a newer life."""
    try:
        ends = log_ends.ends()
    except StoreUnavailable:
        return row  # no other store responds: the ledger answers alone
    return _silence(row.id, ledger, ends, pause)


def _silence(
    task_id: TaskId, ledger: LedgerRows, ends: Mapping[tuple[str, int], int], pause: Pause
) -> Finding:
    """Let the ledger reach the log's end as of now, so that a missing row means something."""
    if not await_ledger(lambda: has_reached(ledger, ends), is_behind=not_, pause=pause):
        return Unsure("the ledger lags behind the log")
    row = ledger.find(task_id)
    if row is None:
        return Nowhere()
    return row if _is_reported(row, Absent(), ledger) else Unsure("it has only just been submitted")
