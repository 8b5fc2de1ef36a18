"""Everything that the scheduler does again and again, as one table."""

from collections.abc import Callable
from datetime import timedelta
from time import monotonic
from typing import Final

from msgspec import Struct

from taskmill.bootstrap import chores, scheduler
from taskmill.core.task import TaskId
from taskmill.core.view import Unsure
from taskmill.dispatch.due import DuePublisher
from taskmill.dispatch.forget_expired import ExpiredRecords
from taskmill.ledger.far import FarFuture
from taskmill.ledger.find import LedgerFinder
from taskmill.ledger.retention import Retention
from taskmill.orders.cancel import Canceller
from taskmill.orders.expire import Expiration
from taskmill.orders.redrive_jobs import RedriveJobRunner
from taskmill.platform import process
from taskmill.recovery.newer_versions import ParcelReturn
from taskmill.recovery.rebuild import Rebuild
from taskmill.schedules.fire import ScheduleFirer
from taskmill.submission.enqueue import ParkedRequests, RequestTaker
from taskmill.submission.relay import Relay


class Job(Struct, frozen=True, kw_only=True):
    """A periodic job: safe beside itself in another scheduler, and after a death at any line."""

    name: str
    every: timedelta | None = None
    """None: at every tick."""

    work: Callable[[], int]
    """Does what is to be done now, and returns how much that was."""

    is_slow: bool = False
    """True for work that may take longer than a tick: it runs in a thread of its own, with
    connections of its own. What asks PostgreSQL is slow, since PostgreSQL may hang."""


def _publish_due() -> int:
    return DuePublisher(scheduler.services()).publish()


def _forget_expired() -> int:
    return ExpiredRecords(scheduler.services()).forget()


def _report_counts() -> int:
    """Report what was counted while the run goes on: it lasts too long to wait for its end."""
    process.counters().flush()
    return 0


def _rebuild() -> int:
    stores = chores.rebuilding()
    word = process.entropy().hex()
    return Rebuild(stores, word=word, grace=stores.grace, pause=process.pause).run()


def _reconcile() -> int:
    return chores.reconciler().run()


def _relay_outbox() -> int:
    return Relay(chores.relaying()).run()


def _forget_old() -> int:
    stores = chores.retaining()
    return Retention(stores, keeps=stores.keeps).forget_old()


def _put_back_parcels() -> int:
    return ParcelReturn(chores.putting_back()).put_back()


def _redrive_many() -> int:
    stores = chores.redriving()
    return RedriveJobRunner(stores, LedgerFinder(stores).find).run()


def _bring_near() -> int:
    return FarFuture(chores.nearing()).bring_near()


def _expire() -> int:
    return Expiration(chores.expiring()).run()


def _fire_schedules() -> int:
    return ScheduleFirer(chores.firing(), cancel=_cancel, now=_monotonic).fire()


def _cancel(task_id: TaskId) -> bool:
    """Cancel the task of an earlier fire; its stores are opened when a schedule asks for it."""
    stores = chores.cancelling()
    answer = Canceller(stores, LedgerFinder(stores).find).cancel(task_id)
    return not isinstance(answer, Unsure)


def _monotonic() -> timedelta:
    return timedelta(seconds=monotonic())


def _take_requests() -> int:
    return RequestTaker(chores.taking()).take()


def _take_up_requests() -> int:
    return ParkedRequests(chores.taking_up()).take_up()


def _at_each_tick(name: str, work: Callable[[], int]) -> Job:
    return Job(name=name, work=work)


def _quick(name: str, work: Callable[[], int], **every: float) -> Job:
    return Job(name=name, work=work, every=timedelta(**every))


def _slow(name: str, work: Callable[[], int], **every: float) -> Job:
    return Job(name=name, work=work, every=timedelta(**every), is_slow=True)


JOBS: Final = (
    _at_each_tick("publish_due", _publish_due),
    _quick("forget_expired", _forget_expired, seconds=1),
    _quick("tell_counts", _report_counts, seconds=2),
    _slow("rebuild", _rebuild, seconds=1),
    _slow("reconcile", _reconcile, minutes=1),
    _slow("relay_outbox", _relay_outbox, seconds=1),
    _slow("forget_old", _forget_old, minutes=1),
    _slow("put_back_parcels", _put_back_parcels, seconds=10),
    _slow("redrive_many", _redrive_many, milliseconds=500),
    _slow("bring_near", _bring_near, seconds=2),
    _slow("expire", _expire, seconds=1),
    _slow("fire_schedules", _fire_schedules, milliseconds=250),
    # Its end is seen at a tick: so it looks every 100 ms as a rule, and two schedulers do.
    _slow("take_requests", _take_requests, milliseconds=50),
    _slow("take_up_requests", _take_up_requests, seconds=10),
)
