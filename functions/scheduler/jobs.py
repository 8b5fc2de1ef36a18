"""The scheduler's periodic jobs, as one table."""

from collections.abc import Callable
from datetime import timedelta
from functools import lru_cache
from time import monotonic
from typing import Final, TypeAlias

from msgspec import Struct

from taskmill.core.task import TaskId
from taskmill.core.view import Unsure
from taskmill.dispatch.due import DuePublisher
from taskmill.dispatch.forget_expired import ExpiredRecords
from taskmill.insight.measure import LaneGauges
from taskmill.lanes.repeat_pauses import repeat_pauses
from taskmill.lanes.watch import LaneWatch
from taskmill.ledger.far import FarFuture
from taskmill.ledger.find import LedgerFinder
from taskmill.ledger.refill import ShelfRefill
from taskmill.ledger.retention import Retention
from taskmill.orders.cancel import Canceller
from taskmill.orders.expire import Expiration
from taskmill.orders.redrive_jobs import RedriveJobRunner
from taskmill.platform import process, run
from taskmill.recovery.newer_versions import BatchReturn
from taskmill.recovery.rebuild import Rebuild
from taskmill.recovery.rebuild_lanes import LaneRebuild
from taskmill.recovery.reconcile import Reconciler
from taskmill.recovery.unreadable import UnreadableRecords
from taskmill.schedules.fire_due import ScheduleFirer
from taskmill.stores.patience import BRIEF, HOLDING, USUAL, Patience
from taskmill.stores.stores import Stores
from taskmill.submission.relay import Relay
from taskmill.submission.take_enqueued import ParkedRequests, RequestTaker

_Work: TypeAlias = Callable[[Stores], int | None]


class Opener(Struct, frozen=True, kw_only=True):
    """How a job opens its stores: their name, and which of them it needs."""

    name: str
    needs: tuple[str, ...]
    patience: Patience = USUAL

    def stores(self) -> Stores:
        return process.stores(self.name, needs=self.needs, patience=self.patience)


class Job(Struct, frozen=True, kw_only=True):
    """A periodic job: safe to run in several schedulers at once, and to crash at any line."""

    name: str
    every: timedelta | None = None
    """None means at every tick."""

    every_idle: timedelta | None = None
    """How long it rests after a run that found nothing of what it is for; None for no longer."""

    work: _Work
    """Does everything that is due now, and returns how much that was; None if nothing of what it
    is for exists."""

    opener: Opener
    """Opens the stores that the work uses; a slow job has its own."""

    is_slow: bool = False
    """True for work that may take longer than a tick: it runs in its own thread, with its own
    connections. Every job that queries PostgreSQL is slow, since PostgreSQL may hang."""

    def run(self) -> int | None:
        return self.work(self.opener.stores())


_EVERY_STORE: Final = ("kafka", "redis", "postgres")

TICKING: Final = Opener(name="scheduler", needs=("kafka", "redis"))
_CANCELLING: Final = Opener(name="cancelling", needs=_EVERY_STORE, patience=BRIEF)
"""Separate from the stores of firing: few schedules cancel the task of an earlier fire."""


def _publish_due(stores: Stores) -> int:
    return DuePublisher(stores).publish()


def _watch_lanes(stores: Stores) -> int | None:
    watch = LaneWatch(stores, run.rhythm(None))
    count = watch.run()
    return None if watch.saw_nothing else count


def _repeat_pauses(stores: Stores) -> int:
    return repeat_pauses(stores)


def _measure_lanes(stores: Stores) -> int:
    return _gauges(stores).report()


@lru_cache(maxsize=1)
def _gauges(stores: Stores) -> LaneGauges:
    """Return the one reporter, which remembers what was not 0."""
    return LaneGauges(stores)


def _forget_expired(stores: Stores) -> int:
    return ExpiredRecords(stores).forget()


def _report_counts(_stores: Stores) -> int:
    """Flush the counters during the run, which is too long to wait for its end."""
    process.counters().flush()
    return 0


def _rebuild(stores: Stores) -> int:
    """Rebuild what Redis lost.

    Within the grace, every live process has published what Redis decided before.
    """
    nonce = process.entropy().hex()
    grace = stores.pace.lease
    count = Rebuild(stores, nonce=nonce, grace=grace, pause=process.pause).run()
    return count + UnreadableRecords(stores, grace=grace, pause=process.pause).mend()


def _rebuild_lanes(stores: Stores) -> int | None:
    nonce, grace = process.entropy().hex(), stores.pace.lease
    rebuild = LaneRebuild(stores, nonce=nonce, grace=grace, pause=process.pause)
    count = rebuild.run()
    return count if rebuild.saw_cold else None


def _reconcile(stores: Stores) -> int:
    return _reconciler(stores).run()


@lru_cache(maxsize=1)
def _reconciler(stores: Stores) -> Reconciler:
    """Return the one reconciler, which remembers the disagreements that it saw."""
    return Reconciler(stores)


def _relay_outbox(stores: Stores) -> int:
    return Relay(stores).run()


def _forget_old(stores: Stores) -> int:
    return Retention(stores, keeps=stores.keeps).forget_old()


def _put_back_batches(stores: Stores) -> int:
    return BatchReturn(stores).put_back()


def _redrive_many(stores: Stores) -> int:
    return RedriveJobRunner(stores, LedgerFinder(stores).find).run()


def _bring_near(stores: Stores) -> int:
    return FarFuture(stores).bring_near()


def _refill(stores: Stores) -> int:
    return ShelfRefill(stores).run()


def _expire(stores: Stores) -> int:
    return Expiration(stores).run()


def _fire_schedules(stores: Stores) -> int:
    return ScheduleFirer(stores, cancel=_cancel, now=_monotonic).fire()


def _cancel(task_id: TaskId) -> bool:
    """Cancel the task of an earlier fire; the stores for it are opened on first use."""
    stores = _CANCELLING.stores()
    outcome = Canceller(stores, LedgerFinder(stores).find).cancel(task_id)
    return not isinstance(outcome, Unsure)


def _monotonic() -> timedelta:
    return timedelta(seconds=monotonic())


def _take_requests(stores: Stores) -> int:
    return RequestTaker(stores).take()


def _take_up_requests(stores: Stores) -> int:
    return ParkedRequests(stores).take_up()


def _of(name: str, *needs: str, patience: Patience = USUAL) -> Opener:
    return Opener(name=name, needs=needs, patience=patience)


def _quick(name: str, work: _Work, *, every_idle: timedelta | None = None, **every: float) -> Job:
    """Return a job that runs at every tick, or at the given interval."""
    period = timedelta(**every) if every else None
    return Job(name=name, work=work, every=period, every_idle=every_idle, opener=TICKING)


def _slow(
    name: str, work: _Work, opener: Opener, *, every_idle: timedelta | None = None, **every: float
) -> Job:
    return Job(
        name=name,
        work=work,
        every=timedelta(**every),
        every_idle=every_idle,
        opener=opener,
        is_slow=True,
    )


_IN_EMPTY_LANES: Final = timedelta(milliseconds=600)
"""Long before workers take their lane for unwatched, and before a wake-up counts as lost."""

_WITHOUT_A_COLD_LANE: Final = timedelta(seconds=1)
"""Of lanes that were lost with their shards, the shards come first, which takes seconds."""

JOBS: Final = (
    _quick("publish_due", _publish_due),
    _quick("watch_lanes", _watch_lanes, every_idle=_IN_EMPTY_LANES, milliseconds=200),
    _quick("forget_expired", _forget_expired, seconds=1),
    _quick("tell_counts", _report_counts, seconds=2),
    _slow("rebuild", _rebuild, _of("rebuilding", *_EVERY_STORE), seconds=1),
    _slow(
        "rebuild_lanes",
        _rebuild_lanes,
        _of("refilling", *_EVERY_STORE),
        every_idle=_WITHOUT_A_COLD_LANE,
        milliseconds=500,
    ),
    _slow("reconcile", _reconcile, _of("reconciling", *_EVERY_STORE), minutes=1),
    _slow("relay_outbox", _relay_outbox, _of("relaying", "kafka", "postgres"), seconds=1),
    _slow("forget_old", _forget_old, _of("retaining", "postgres"), minutes=1),
    _slow(
        "put_back_parcels", _put_back_batches, _of("putting_back", "kafka", "postgres"), seconds=10
    ),
    _slow(
        "redrive_many",
        _redrive_many,
        _of("redriving", *_EVERY_STORE, patience=HOLDING),
        milliseconds=500,
    ),
    _slow("bring_near", _bring_near, _of("nearing", "redis", "postgres"), seconds=2),
    _slow("measure_lanes", _measure_lanes, _of("measuring", "redis", "postgres"), seconds=5),
    _slow("refill", _refill, _of("shelving", *_EVERY_STORE), seconds=1),
    _slow("expire", _expire, _of("expiring", *_EVERY_STORE, patience=HOLDING), seconds=1),
    _slow("repeat_pauses", _repeat_pauses, _of("pausing", *_EVERY_STORE), seconds=1),
    _slow("fire_schedules", _fire_schedules, _of("firing", "postgres"), milliseconds=250),
    # A tick notices its end, so it usually runs every 100 ms, in each of the two schedulers.
    _slow(
        "take_requests",
        _take_requests,
        _of("taking", *_EVERY_STORE, "s3", patience=BRIEF),
        milliseconds=50,
    ),
    _slow("take_up_requests", _take_up_requests, _of("taking_up", "postgres"), seconds=10),
)
