"""What the core needs of the world, in its own words."""

from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol, TypeAlias

from taskmill.domain.admission import Cleared, Owed, OwedKey, Verdict
from taskmill.domain.catalogue import PayloadMisfit, TypeEntry
from taskmill.domain.control import (
    CancelAnswer,
    CancelOrder,
    RedriveAnswer,
    RedriveOrder,
    Sight,
)
from taskmill.domain.counting import Count, Span
from taskmill.domain.endpoints import DisabledEndpoint
from taskmill.domain.facts import Fact
from taskmill.domain.lease import (
    Beat,
    Claim,
    ClaimAnswer,
    Lease,
    SettleAnswer,
    Settlement,
)
from taskmill.domain.listing import DeadPage, History, Page, TaskFilter
from taskmill.domain.log import LogRecord, Reach
from taskmill.domain.outbox import Unsent
from taskmill.domain.outcome import End
from taskmill.domain.parking import Parked
from taskmill.domain.projection import LedgerBatch, Row
from taskmill.domain.quarantine import (
    AfterRecord,
    Discard,
    KeptParcel,
    Place,
    QuarantinedRecord,
    QuarantinePage,
)
from taskmill.domain.reconciliation import RepairAnswer, RepairOrder, Standing
from taskmill.domain.records import Reading, TaskView
from taskmill.domain.redriving import Done, Item, JobState, NewJob, RedriveJob
from taskmill.domain.restoration import HotView, Restoration
from taskmill.domain.retention import Kept
from taskmill.domain.statistics import Figures
from taskmill.domain.task import Envelope, Millis, TaskId
from taskmill.domain.topics import Reader
from taskmill.domain.wire import Sealed

Clock: TypeAlias = Callable[[], Millis]
Pause: TypeAlias = Callable[[timedelta], None]
Chance: TypeAlias = Callable[[], float]
"""A random number from 0 to 1."""


class Admission(Protocol):
    """Where a submission becomes a task, once per key."""

    def admit(self, envelopes: Sequence[Envelope]) -> Sequence[Verdict]: ...

    def clear(self, published: Sequence[OwedKey]) -> Sequence[Cleared]: ...


class Parking(Protocol):
    """Where tasks wait for a worker that takes their type."""

    def park(self, waiting: Sequence[Sealed]) -> Sequence[Parked]: ...


class DueSet(Protocol):
    """Everything that must be published at a time."""

    def take(self, *, most: int) -> Sequence[tuple[OwedKey, Owed]]: ...

    def clear(self, published: Sequence[OwedKey]) -> Sequence[Cleared]: ...

    def forget_expired(self, *, most: int) -> int: ...


class Leases(Protocol):
    """The right to run a turn."""

    def claim(self, claims: Sequence[Claim]) -> Sequence[ClaimAnswer]: ...

    def extend(self, leases: Sequence[Lease]) -> Sequence[Beat]: ...

    def settle(self, settlements: Sequence[Settlement]) -> Sequence[SettleAnswer]: ...


class Records(Protocol):
    """The hot state of tasks, for readers."""

    def read(self, ids: Sequence[TaskId]) -> Sequence[Reading]: ...


class Control(Protocol):
    """Orders from outside: each stands only when its task is still as it was seen."""

    def see(self, ids: Sequence[TaskId]) -> Sequence[Sight]: ...

    def cancel(self, orders: Sequence[CancelOrder]) -> Sequence[CancelAnswer]: ...

    def redrive(self, orders: Sequence[RedriveOrder]) -> Sequence[RedriveAnswer]: ...


class ColdShards(Protocol):
    """The shards that forgot, or may have. Each step needs the word of the one who began."""

    def shard_of(self, task_id: TaskId) -> int: ...

    def are_some(self) -> bool: ...

    def begin(self, word: str) -> frozenset[int]: ...

    def keep(self, word: str, shards: Collection[int]) -> frozenset[int]: ...

    def held(self, shards: Collection[int]) -> Iterable[Sequence[TaskId]]: ...

    def restore(self, word: str, tasks: Sequence[HotView]) -> Sequence[Restoration]: ...

    def open(self, word: str, shards: Collection[int]) -> frozenset[int]: ...


class Bus(Protocol):
    """The log. Nothing sent counts before `flush` returns."""

    def is_shut(self) -> bool:
        """Tell whether it did not answer a moment ago: sending now would fail at once."""

    def send_pending(self, envelopes: Sequence[Envelope | Sealed]) -> None: ...

    def send_work(self, envelopes: Sequence[Envelope | Sealed]) -> None: ...

    def send_facts(self, facts: Sequence[Fact]) -> None: ...

    def send_parcel(self, topic: str, value: bytes) -> None: ...

    def send_undecodable(self, record: LogRecord, reason: str) -> None: ...

    def flush(self) -> None: ...


class LogEnds(Protocol):
    """How far the log reaches."""

    def ends(self) -> Mapping[tuple[str, int], int]: ...


class LogReaders(Protocol):
    """How far those have come who read the log."""

    def reach(self, readers: Sequence[Reader]) -> Mapping[tuple[Reader, int], Reach]:
        """Return it for each partition; a topic that is not there has none."""
        ...


class Ledger(Protocol):
    """The durable projection of all facts; only the recorder writes it."""

    def record(self, batch: LedgerBatch) -> int:
        """Write *batch* whole; return how many rows came late or twice, and changed nothing."""
        ...


class LedgerRows(Protocol):
    """The ledger, for readers."""

    def find(self, task_id: TaskId) -> TaskView | None: ...

    def fingerprint(self, task_id: TaskId) -> str | None: ...

    def payload(self, task_id: TaskId) -> bytes | None: ...

    def page(self, wanted: TaskFilter) -> Page: ...

    def dead(self, wanted: TaskFilter) -> DeadPage: ...

    def history_of(self, task_id: TaskId, *, most: int) -> History: ...

    def applied(self) -> Mapping[tuple[str, int], int]: ...


class Held(Protocol):
    """Rows of the outbox that nobody else publishes meanwhile; what is marked counts at the end."""

    @property
    def rows(self) -> Sequence[Unsent]: ...

    def mark_published(self, rows: Sequence[Unsent]) -> None: ...

    def park(self, row: Unsent, reason: str) -> None: ...


class Outbox(Protocol):
    """The tasks that were accepted while the log was away; unsent, they count as ledger."""

    def has_room(self, count: int) -> bool: ...

    def add(self, envelopes: Sequence[Envelope]) -> None: ...

    def find(self, task_id: TaskId) -> Envelope | None: ...

    def unsent(self, *, after: int, most: int) -> Sequence[Unsent]: ...

    def held(self, *, most: int) -> AbstractContextManager[Held]: ...


class WholeRows(Protocol):
    """The rows as they were told, for those who make the hot state anew."""

    def restorable(self, *, finished: bool) -> Iterable[Sequence[Row]]: ...

    def of(self, ids: Sequence[TaskId]) -> Sequence[Row]: ...

    def applied(self) -> Mapping[tuple[str, int], int]: ...


class Quarantine(Protocol):
    """The records that were never a task; none is removed, some are marked as discarded."""

    def page(
        self, *, is_discarded: bool, after: AfterRecord | None, limit: int
    ) -> QuarantinePage: ...

    def discard(self, place: Place, discard: Discard) -> QuarantinedRecord | None: ...


class HeldParcels(Protocol):
    """Parcels that nobody else puts back meanwhile."""

    @property
    def parcels(self) -> Sequence[KeptParcel]: ...

    def mark_returned(self) -> None: ...


class NewerParcels(Protocol):
    """The parcels in quarantine that a newer version wrote."""

    def held(self, *, readable: int, most: int) -> AbstractContextManager[HeldParcels]: ...


class HeldJob(Protocol):
    """A running redrive job that nobody else works on while it is held."""

    @property
    def job(self) -> RedriveJob: ...

    @property
    def now_ms(self) -> Millis: ...

    def next(self, count: int) -> Sequence[Item]: ...

    def note(self, done: Sequence[Done], *, paced_for: int) -> None: ...

    def change(self, state: JobState, why: str | None) -> None: ...


class RedriveJobs(Protocol):
    """Who is to be brought back, and how far that is."""

    def make(self, job: NewJob) -> RedriveJob: ...

    def find(self, job_id: str) -> RedriveJob | None: ...

    def latest(self, tenant: str, *, limit: int) -> Sequence[RedriveJob]: ...

    def stop(self, job_id: str) -> None: ...

    def resume(self, job_id: str) -> None: ...

    def running(self) -> Sequence[str]: ...

    def held(self, job_id: str) -> AbstractContextManager[HeldJob | None]: ...


class LedgerFigures(Protocol):
    """Sums over the ledger, in bounded time."""

    def figures(self) -> Figures: ...


class Standings(Protocol):
    """How far tasks are, by the ledger; what is unfinished for long stands apart."""

    def advance(self) -> Iterable[Sequence[Standing]]: ...

    def young(self, *, since_ms: Millis) -> Iterable[Sequence[Standing]]: ...

    def unfinished(self, *, after: TaskId | None, most: int) -> Sequence[Standing]: ...

    def of(self, ids: Sequence[TaskId]) -> Sequence[Standing]: ...

    def leave(self, ids: Sequence[TaskId]) -> None: ...


class Archive(Protocol):
    """What is kept for a time after its end."""

    def forget(self, kind: Kept, *, older_than: timedelta, most: int) -> int: ...

    def make_months(self, *, ahead: int) -> int: ...


class Repairs(Protocol):
    """Raises records to what the ledger knows, each only when it is still as it was seen."""

    def repair(self, orders: Sequence[RepairOrder]) -> Sequence[RepairAnswer]: ...


class Catalogue(Protocol):
    """The deployed types."""

    def entries(self) -> Sequence[TypeEntry]: ...

    def entry(self, name: str) -> TypeEntry | None: ...

    def misfit(self, name: str, payload: object) -> PayloadMisfit | None: ...


class Endpoints(Protocol):
    """The receivers of webhooks that said that they are gone: nobody calls them again."""

    def disable(self, url: str, *, at_ms: Millis) -> None: ...

    def is_disabled(self, url: str) -> bool: ...

    def enable(self, url: str) -> bool:
        """Let it be called again; return whether it was disabled."""
        ...

    def disabled(self, *, most: int) -> Sequence[DisabledEndpoint]:
        """Return those that were disabled last."""
        ...


class Waiters(Protocol):
    """The places for requests that are held until a task ends."""

    def place(self) -> AbstractContextManager[bool]: ...


@dataclass(frozen=True, slots=True)
class Ended:
    ticket: int
    end: End


Performed: TypeAlias = End | Coroutine[Any, Any, End]
"""What a call comes to: its end, or what must be awaited for it."""


class Crew(Protocol):
    """Those who perform side by side; a ticket is never given twice.

    A call that is abandoned need not report its end.
    """

    def start(self, call: Callable[[], Performed]) -> int: ...

    def ended(self, *, within: timedelta) -> Sequence[Ended]: ...

    def abandon(self, ticket: int) -> None: ...

    def strays(self, *, within: timedelta) -> int:
        """Return how many abandoned calls still run; wait for them, but no longer than *within*."""
        ...


class Errands(Protocol):
    """What is done beside the caller; an errand under way is not started twice."""

    def start(self, name: str, errand: Callable[[], int]) -> Future[int]: ...


class Counters(Protocol):
    """Adds up what happens. What is lost with a process is lost: the ledger holds the truth."""

    def count(self, what: Count, by: int = 1, **labels: str) -> None: ...

    def time(self, what: Span, seconds: float, **labels: str) -> None: ...

    def flush(self) -> None:
        """Tell what was added up since the last time."""
