"""Fires the schedules whose time has come."""

from datetime import timedelta
from time import monotonic

from functions.scheduler.chore import Chore
from taskmill.bootstrap import chores
from taskmill.core.task import TaskId
from taskmill.core.view import Unsure
from taskmill.ledger.far import load
from taskmill.orders.cancel import cancel
from taskmill.platform import process
from taskmill.schedules.fire import fire


def _fire() -> int:
    return fire(chores.firing().schedules, cancel=_cancel, now=_now)


def _now() -> timedelta:
    return timedelta(seconds=monotonic())


def _cancel(task_id: TaskId) -> bool:
    bound = chores.cancelling()
    answer = cancel(
        task_id,
        control=bound.control,
        admission=bound.admission,
        bus=bound.bus,
        clock=process.clock,
        find=bound.find,
        load=lambda one: load(bound.rows.of([one]), bound.delays),
    )
    return not isinstance(answer, Unsure)


CHORE = Chore(name="fire_schedules", every=timedelta(milliseconds=250), do=_fire, is_slow=True)
